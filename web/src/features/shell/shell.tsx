import { useQuery, useQueryClient } from "@tanstack/react-query";
import {
  Activity,
  FileBox,
  KeyRound,
  ListTree,
  LogOut,
  Menu,
  MessageSquarePlus,
  Monitor,
  Moon,
  ShieldCheck,
  Sun,
} from "lucide-react";
import { type ReactNode, useEffect, useEffectEvent, useRef, useState } from "react";
import { NavLink, Outlet, useLocation } from "react-router";
import { addresses } from "../../addresses.ts";
import { answered, api } from "../../api/client.ts";
import { letIn } from "../../api/door.ts";
import { logOut, may, useMe } from "../../api/me.ts";
import type { MeOut } from "../../api/schema.gen.ts";
import { IconButton } from "../../ui/button.tsx";
import { Loading, ProblemNotice } from "../../ui/notice.tsx";
import { chooseTheme, chosenTheme, type Theme } from "../../ui/theme.ts";
import { useDoor } from "./door.ts";
import { LoginPage } from "./login-page.tsx";
import css from "./shell.module.css";

/** What surrounds every page: who is here, where one can go, and the door for those who are not logged in. */
export function Shell({ guide }: { readonly guide: ReactNode }) {
  const me = useMe();
  useDoor();
  if (me.isPending) return <Loading what="Opening the console" />;
  if (me.data === null) return <LoginPage />;
  if (me.data === undefined) return <LoginPage problem={me.error} />;
  return <House key={`${me.data.tenant}/${me.data.user}`} who={me.data} guide={guide} />;
}

function House({ who, guide }: { readonly who: MeOut; readonly guide: ReactNode }) {
  const [isMenuOpen, setMenuOpen] = useState(false);
  const { pathname } = useLocation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: whoever went somewhere is done with the menu.
  useEffect(() => setMenuOpen(false), [pathname]);
  const opener = useRef<HTMLButtonElement>(null);
  useEscape(isMenuOpen, () => {
    setMenuOpen(false);
    opener.current?.focus();
  });
  return (
    <div className={css.shell}>
      <a className={css.skip} href="#main">
        Skip to the page
      </a>
      <header className={css.bar}>
        <IconButton
          ref={opener}
          label={isMenuOpen ? "Close the menu" : "Open the menu"}
          aria-expanded={isMenuOpen}
          aria-controls="menu"
          onClick={() => setMenuOpen(!isMenuOpen)}
        >
          <Menu aria-hidden />
        </IconButton>
        <strong>turnkeeper</strong>
      </header>
      <nav id="menu" aria-label="Console" className={`${css.side} ${isMenuOpen ? css.open : ""}`}>
        <NavLink to={addresses.home} className={css.brand ?? ""} end>
          <img src="/console/icon.svg" alt="" width="26" height="26" /> turnkeeper
        </NavLink>
        {may(who, "sessions:write") && (
          <Way to={addresses.newChat} icon={<MessageSquarePlus aria-hidden />} name="New chat" />
        )}
        <Way to={addresses.sessions} icon={<ListTree aria-hidden />} name="Sessions" />
        <Way to={addresses.artifacts} icon={<FileBox aria-hidden />} name="Artifacts" />
        <Way to={addresses.approvals} icon={<ShieldCheck aria-hidden />} name="Approvals" note={<Waiting />} />
        {may(who, "audit:manage") && <Way to={addresses.operate} icon={<Activity aria-hidden />} name="Operate" />}
        <Way to={addresses.keys} icon={<KeyRound aria-hidden />} name="Keys" />
        <div className={css.foot}>
          <ThemeSwitch />
          <Leave who={who} />
        </div>
      </nav>
      {isMenuOpen && (
        <button type="button" className={css.shade} aria-label="Close the menu" onClick={() => setMenuOpen(false)} />
      )}
      <main id="main" tabIndex={-1} className={css.main}>
        {guide}
        <div className={css.page}>
          <Outlet />
        </div>
      </main>
    </div>
  );
}

/** Calls `onEscaped` when Escape is pressed while something is open that nothing else closes. */
function useEscape(isOpen: boolean, onEscaped: () => void): void {
  const onPressed = useEffectEvent((event: KeyboardEvent) => {
    if (event.key === "Escape") onEscaped();
  });
  useEffect(() => {
    if (!isOpen) return;
    window.addEventListener("keydown", onPressed);
    return () => window.removeEventListener("keydown", onPressed);
  }, [isOpen]);
}

function Way({
  to,
  icon,
  name,
  note,
}: {
  readonly to: string;
  readonly icon: ReactNode;
  readonly name: string;
  readonly note?: ReactNode;
}) {
  return (
    <NavLink to={to} className={({ isActive }) => `${css.way} ${isActive ? css.here : ""}`}>
      {icon}
      <span className="grow">{name}</span>
      {note}
    </NavLink>
  );
}

const ASKED_EVERY_MS = 15_000;

function Waiting() {
  const waiting = useQuery({
    queryKey: ["approvals", "pending-count"],
    queryFn: () => answered(api.GET("/api/v1/approvals", { params: { query: { status: "pending", limit: 50 } } })),
    refetchInterval: ASKED_EVERY_MS,
  });
  const count = waiting.data?.items.length ?? 0;
  return count === 0 ? null : (
    <span className={css.count}>
      {count === 50 ? "50+" : count}
      <span className="unseen"> waiting</span>
    </span>
  );
}

const THEMES: Readonly<Record<Theme, { readonly next: Theme; readonly icon: ReactNode; readonly says: string }>> = {
  system: { next: "light", icon: <Monitor aria-hidden />, says: "Theme: as the system has it" },
  light: { next: "dark", icon: <Sun aria-hidden />, says: "Theme: light" },
  dark: { next: "system", icon: <Moon aria-hidden />, says: "Theme: dark" },
};

function ThemeSwitch() {
  const [theme, setTheme] = useState(chosenTheme);
  const { next, icon, says } = THEMES[theme];
  const change = () => {
    chooseTheme(next);
    setTheme(next);
  };
  return (
    <IconButton label={says} onClick={change}>
      {icon}
    </IconButton>
  );
}

function Leave({ who }: { readonly who: MeOut }) {
  const queries = useQueryClient();
  const [problem, setProblem] = useState<unknown>();
  const leave = async () => {
    try {
      await logOut();
      letIn(queries, null);
    } catch (error) {
      setProblem(error);
    }
  };
  return (
    <>
      <span className={`grow ${css.who}`}>
        {who.user}
        <span className="soft"> · {who.role}</span>
      </span>
      <IconButton label="Log out" onClick={() => void leave()}>
        <LogOut aria-hidden />
      </IconButton>
      {problem !== undefined && <ProblemNotice problem={problem} />}
    </>
  );
}
