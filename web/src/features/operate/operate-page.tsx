import { type ComponentType, lazy, Suspense } from "react";
import { useSearchParams } from "react-router";
import { addresses } from "../../addresses.ts";
import { may, useMe } from "../../api/me.ts";
import { Empty, Loading } from "../../ui/notice.tsx";
import { Page } from "../../ui/panel.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { RefreshBar, Renewed } from "./refreshing.tsx";

interface View {
  readonly id: string;
  readonly name: string;
  /** Who may ask for what is in it. */
  readonly right: string;
  readonly Component: ComponentType;
}

const VIEWS: readonly View[] = [
  {
    id: "now",
    name: "Now",
    right: "runs:read",
    Component: lazy(async () => ({ default: (await import("./now-view.tsx")).NowView })),
  },
  {
    id: "traffic",
    name: "Traffic",
    right: "metrics:manage",
    Component: lazy(async () => ({ default: (await import("./traffic-view.tsx")).TrafficView })),
  },
  {
    id: "usage",
    name: "Usage",
    right: "usage:manage",
    Component: lazy(async () => ({ default: (await import("./usage-view.tsx")).UsageView })),
  },
  {
    id: "audit",
    name: "Refusals and audit",
    right: "audit:manage",
    Component: lazy(async () => ({ default: (await import("./audit-view.tsx")).AuditView })),
  },
  {
    id: "limits",
    name: "Limits",
    right: "limits:read",
    Component: lazy(async () => ({ default: (await import("./limits-view.tsx")).LimitsView })),
  },
];

/** A running house at a glance: what goes on, how fast, for how much, who was turned away, and how far one may go. */
export function OperatePage() {
  const [params] = useSearchParams();
  const { data: who } = useMe();
  const views = VIEWS.filter(({ right }) => may(who, right));
  const wanted = params.get("view");
  const view = views.find(({ id }) => id === wanted) ?? views[0];
  if (view === undefined)
    return (
      <Page title="Operate">
        <Empty title="Nothing here is yours to see">
          Your role is {who?.role}. Ask an owner or admin of your tenant for what you need to know.
        </Empty>
      </Page>
    );
  const { Component } = view;
  return (
    <Renewed key={view.id}>
      <Page title="Operate" aside={<RefreshBar />}>
        <Tabs
          label="Operate"
          tabs={views.map(({ id, name }) => ({
            to: id === "now" ? addresses.operate : `${addresses.operate}?view=${id}`,
            name,
            isHere: id === view.id,
          }))}
        />
        {views.length < VIEWS.length && (
          <p className="soft">
            As {who?.role} you see what is your own. Traffic, usage and the audit of the whole tenant are for its owner
            and admins.
          </p>
        )}
        <Suspense fallback={<Loading />}>
          <Component />
        </Suspense>
      </Page>
    </Renewed>
  );
}
