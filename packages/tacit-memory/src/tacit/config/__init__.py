"""Settings, their layers and the folders of the home. Only this room reads settings files and the environment."""
