/** The address of every page: what can be shared as a link lives in it. */
export const addresses = {
  home: "/",
  newChat: "/chat",
  tour: "/tour",
  sessions: "/sessions",
  session: (id: string) => `/sessions/${encodeURIComponent(id)}`,
  /** Where its user left it: the view that was open last. */
  comeBack: (id: string) => `/sessions/${encodeURIComponent(id)}?back`,
  why: (id: string, runId?: string) =>
    `/sessions/${encodeURIComponent(id)}/why${runId === undefined ? "" : `/${encodeURIComponent(runId)}`}`,
  compare: (id: string, one: string, other: string) =>
    `/sessions/${encodeURIComponent(id)}/why/${encodeURIComponent(one)}?with=${encodeURIComponent(other)}`,
  knowledge: (id: string) => `/sessions/${encodeURIComponent(id)}/knowledge`,
  unit: (id: string, unitId: string) =>
    `/sessions/${encodeURIComponent(id)}/knowledge?unit=${encodeURIComponent(unitId)}`,
  scope: (id: string) => `/sessions/${encodeURIComponent(id)}/scope`,
  history: (id: string) => `/sessions/${encodeURIComponent(id)}/history`,
  artifacts: "/artifacts",
  artifact: (idOrHash: string) => `/artifacts?artifact=${encodeURIComponent(idOrHash)}`,
  manifest: (hash: string, against?: string) =>
    `/artifacts?manifest=${encodeURIComponent(hash)}${against === undefined ? "" : `&against=${encodeURIComponent(against)}`}`,
  pointer: (id: string) => `/artifacts?pointer=${encodeURIComponent(id)}`,
  approvals: "/approvals",
  operate: "/operate",
  keys: "/keys",
} as const;
