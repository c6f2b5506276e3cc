import { createBrowserRouter, Navigate, type RouteObject } from "react-router";
import { Broken } from "./features/shell/broken.tsx";
import { Shell } from "./features/shell/shell.tsx";
import { Coach } from "./features/tour/coach.tsx";
import { Loading } from "./ui/notice.tsx";

/** Each page is loaded when it is first opened. */
const pages: RouteObject[] = [
  { index: true, lazy: async () => ({ Component: (await import("./features/sessions/home-page.tsx")).HomePage }) },
  { path: "chat", lazy: async () => ({ Component: (await import("./features/chat/chat-page.tsx")).ChatPage }) },
  // The coach sees this address and leads home.
  { path: "tour", element: null },
  {
    path: "sessions",
    lazy: async () => ({ Component: (await import("./features/sessions/sessions-page.tsx")).SessionsPage }),
  },
  {
    path: "sessions/:sessionId",
    lazy: async () => ({ Component: (await import("./features/sessions/session-page.tsx")).SessionPage }),
    children: [
      { index: true, lazy: async () => ({ Component: (await import("./features/chat/chat-page.tsx")).ChatPage }) },
      { path: "why", lazy: async () => ({ Component: (await import("./features/why/why-page.tsx")).WhyPage }) },
      { path: "why/:runId", lazy: async () => ({ Component: (await import("./features/why/why-page.tsx")).WhyPage }) },
      {
        path: "knowledge",
        lazy: async () => ({ Component: (await import("./features/knowledge/knowledge-page.tsx")).KnowledgePage }),
      },
      { path: "scope", lazy: async () => ({ Component: (await import("./features/scope/scope-page.tsx")).ScopePage }) },
      {
        path: "history",
        lazy: async () => ({ Component: (await import("./features/sessions/history-page.tsx")).HistoryPage }),
      },
    ],
  },
  {
    path: "artifacts",
    lazy: async () => ({ Component: (await import("./features/artifacts/artifacts-page.tsx")).ArtifactsPage }),
  },
  {
    path: "approvals",
    lazy: async () => ({ Component: (await import("./features/operate/approvals-page.tsx")).ApprovalsPage }),
  },
  {
    path: "operate",
    lazy: async () => ({ Component: (await import("./features/operate/operate-page.tsx")).OperatePage }),
  },
  { path: "keys", lazy: async () => ({ Component: (await import("./features/operate/keys-page.tsx")).KeysPage }) },
  { path: "*", element: <Navigate to="/" replace /> },
];

export const router = createBrowserRouter(
  [
    {
      path: "/",
      element: <Shell guide={<Coach />} />,
      errorElement: <Broken />,
      hydrateFallbackElement: <Loading what="Opening the console" />,
      children: pages,
    },
  ],
  { basename: location.pathname.startsWith("/console") ? "/console" : "/" },
);
