import "@fontsource-variable/inter";
import "@fontsource-variable/jetbrains-mono";
import "@mantine/core/styles.css";
import "@mantine/notifications/styles.css";
import "./app/style.css";

import { MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { QueryClientProvider } from "@tanstack/react-query";
import { setNonce } from "get-nonce";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { RouterProvider } from "react-router";

import { signIn } from "./api/client";
import { queryClient } from "./api/queryClient";
import { askFirst, fetchAhead, router } from "./app/routes";
import { SignedOut } from "./app/SignedOut";
import { theme } from "./app/theme";

// The page's policy allows no inline style but those that carry this answer's number.
const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? "";
setNonce(nonce);

const root = createRoot(document.getElementById("root")!);

function show(signedIn: boolean) {
  if (signedIn) askFirst();
  root.render(
    <StrictMode>
      <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
        <QueryClientProvider client={queryClient}>
          <Notifications position="bottom-right" limit={4} />
          <SignedOut signedIn={signedIn}>
            <RouterProvider router={router} />
          </SignedOut>
        </QueryClientProvider>
      </MantineProvider>
    </StrictMode>,
  );
}

void signIn()
  .then(show, () => show(false))
  .then(() => setTimeout(fetchAhead, 1200));
