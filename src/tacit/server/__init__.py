"""The server that joins the devices of a person: it keeps encrypted logs and cannot read them."""
