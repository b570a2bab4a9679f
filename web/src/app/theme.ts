import { createTheme, type MantineColorsTuple } from "@mantine/core";

/** Injected, kept, of use: the one accent of the page. */
const pine: MantineColorsTuple = [
  "#e6f7f3", "#cdebe4", "#9dd8ca", "#69c3ae", "#3eae96", "#21957f", "#0b7a6b", "#06665a", "#045249", "#023e37",
];

const slate: MantineColorsTuple = [
  "#d5dbe3", "#b6bfcb", "#99a4b3", "#7c899b", "#3a4350", "#2b323d", "#20262f", "#181d24", "#12161b", "#0c0f13",
];

/** The library's red and orange with darker shades, on which white letters can be read, and which can be read on their light ones. */
const red: MantineColorsTuple = ["#fff5f5", "#ffe3e3", "#ffc9c9", "#ffa8a8", "#ff8787", "#ff6b6b", "#b3261e", "#b3261e", "#a1211a", "#8c1c16"];
const orange: MantineColorsTuple = ["#fff4e6", "#ffe8cc", "#ffd8a8", "#ffc078", "#ffa94d", "#ff922b", "#9a5b00", "#9a5b00", "#8a5200", "#784700"];

const closing = { closeButtonProps: { "aria-label": "Close" } };

export const theme = createTheme({
  primaryColor: "pine",
  primaryShade: { light: 6, dark: 7 },
  colors: { pine, red, orange, dark: slate },
  fontFamily: '"Inter Variable", system-ui, sans-serif',
  fontFamilyMonospace: '"JetBrains Mono Variable", ui-monospace, monospace',
  fontSizes: { xs: "0.75rem", sm: "0.8125rem", md: "0.875rem", lg: "1rem", xl: "1.25rem" },
  defaultRadius: "sm",
  cursorType: "pointer",
  respectReducedMotion: true,
  headings: { fontWeight: "620" },
  components: {
    // In a dialog a <header> would be a second banner of the page.
    DrawerHeader: { defaultProps: { component: "div" } },
    ModalHeader: { defaultProps: { component: "div" } },
    Drawer: { defaultProps: closing },
    Modal: { defaultProps: closing },
    Notification: { defaultProps: closing },
    Button: { defaultProps: { size: "xs" } },
    TextInput: { defaultProps: { size: "xs" } },
    Textarea: { defaultProps: { size: "sm" } },
    Select: { defaultProps: { size: "xs", checkIconPosition: "right" } },
    MultiSelect: { defaultProps: { size: "xs" } },
    NumberInput: { defaultProps: { size: "xs" } },
    SegmentedControl: { defaultProps: { size: "xs" } },
    Switch: { defaultProps: { size: "sm" } },
    Tooltip: { defaultProps: { events: { hover: true, focus: true, touch: false }, openDelay: 250, withArrow: true, multiline: true, maw: 340 } },
    Badge: { defaultProps: { variant: "light", radius: "sm" } },
  },
});
