import { createTheme, type MantineColorsTuple } from "@mantine/core";

/** Injected, kept, of use: the one accent of the page. */
const pine: MantineColorsTuple = [
  "#e6f7f3", "#cdebe4", "#9dd8ca", "#69c3ae", "#3eae96", "#21957f", "#0b7a6b", "#06665a", "#045249", "#023e37",
];

const slate: MantineColorsTuple = [
  "#d5dbe3", "#b6bfcb", "#99a4b3", "#7c899b", "#3a4350", "#2b323d", "#20262f", "#181d24", "#12161b", "#0c0f13",
];

export const theme = createTheme({
  primaryColor: "pine",
  primaryShade: { light: 6, dark: 7 },
  colors: { pine, dark: slate },
  fontFamily: '"Inter Variable", system-ui, sans-serif',
  fontFamilyMonospace: '"JetBrains Mono Variable", ui-monospace, monospace',
  fontSizes: { xs: "0.75rem", sm: "0.8125rem", md: "0.875rem", lg: "1rem", xl: "1.25rem" },
  defaultRadius: "sm",
  cursorType: "pointer",
  respectReducedMotion: true,
  headings: { fontWeight: "620" },
  components: {
    Button: { defaultProps: { size: "xs" } },
    TextInput: { defaultProps: { size: "xs" } },
    Textarea: { defaultProps: { size: "sm" } },
    Select: { defaultProps: { size: "xs", checkIconPosition: "right" } },
    MultiSelect: { defaultProps: { size: "xs" } },
    NumberInput: { defaultProps: { size: "xs" } },
    SegmentedControl: { defaultProps: { size: "xs" } },
    Switch: { defaultProps: { size: "sm" } },
    Tooltip: { defaultProps: { openDelay: 250, withArrow: true, multiline: true, maw: 340 } },
    Badge: { defaultProps: { variant: "light", radius: "sm" } },
  },
});
