import { Search } from "lucide-react";
import { useEffect, useState } from "react";
import { Link, useSearchParams } from "react-router";
import { addresses } from "../../addresses.ts";
import type { SessionOrder, SessionStatus } from "../../api/schema.gen.ts";
import button from "../../ui/button.module.css";
import { SelectField, TextField } from "../../ui/field.tsx";
import { Empty, Loading, ProblemNotice } from "../../ui/notice.tsx";
import { usePageTitle } from "../../ui/title.ts";
import { type Filters, useAgents, useSessions } from "./queries.ts";
import { SessionList } from "./session-list.tsx";
import css from "./sessions-page.module.css";

const STATUSES: readonly SessionStatus[] = ["active", "paused", "closed", "expired"];
const TYPED_MS = 250;

/** Every session one may see, found by its words, its status, its agent; the search is in the address. */
export function SessionsPage() {
  usePageTitle("Sessions");
  const [filters, setFilter] = useFilters();
  const found = useSessions(filters);
  const sessions = found.data?.pages.flatMap((page) => page.items) ?? [];
  const isFiltered = filters.text !== "" || filters.status !== "" || filters.agent !== "";
  return (
    <div className={css.page}>
      <header className={css.head}>
        <h1>Sessions</h1>
        <Link className={`${button.button} ${button.primary}`} to={addresses.newChat}>
          New chat
        </Link>
      </header>
      <FilterBar filters={filters} onChanged={setFilter} />
      {found.error !== null && <ProblemNotice problem={found.error} onRetried={() => void found.refetch()} />}
      {found.isPending && <Loading what="Looking for sessions" />}
      {found.data !== undefined && sessions.length === 0 && (
        <Empty title={isFiltered ? "No session matches" : "No sessions yet"}>
          {isFiltered
            ? "Try fewer words, or another status."
            : "Every conversation is kept here, with all that it knows."}
        </Empty>
      )}
      {sessions.length > 0 && (
        <SessionList
          sessions={sessions}
          hasMore={found.hasNextPage}
          isBusy={found.isFetchingNextPage}
          onEndReached={() => void found.fetchNextPage()}
        />
      )}
    </div>
  );
}

function FilterBar({
  filters,
  onChanged,
}: {
  readonly filters: Filters;
  readonly onChanged: (name: string, value: string) => void;
}) {
  const agents = useAgents();
  return (
    <search className={css.filters} aria-label="Sessions">
      <SearchField value={filters.text} onTyped={(text) => onChanged("q", text)} />
      <SelectField
        label="Status"
        isLabelUnseen
        value={filters.status}
        onChange={(event) => onChanged("status", event.target.value)}
      >
        <option value="">Every status</option>
        {STATUSES.map((status) => (
          <option key={status}>{status}</option>
        ))}
      </SelectField>
      <SelectField
        label="Agent"
        isLabelUnseen
        value={filters.agent}
        onChange={(event) => onChanged("agent", event.target.value)}
      >
        <option value="">Every agent</option>
        {[
          ...new Set([
            ...(agents.data?.items.map((agent) => agent.id) ?? []),
            ...(filters.agent === "" ? [] : [filters.agent]),
          ]),
        ].map((agent) => (
          <option key={agent}>{agent}</option>
        ))}
      </SelectField>
      <SelectField
        label="Order"
        isLabelUnseen
        value={filters.order}
        onChange={(event) => onChanged("order", event.target.value)}
      >
        <option value="active">Last active first</option>
        <option value="created">Newest first</option>
      </SelectField>
    </search>
  );
}

/** Asks once the typing has paused, not at every letter. */
function SearchField({ value, onTyped }: { readonly value: string; readonly onTyped: (text: string) => void }) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => onTyped(text), TYPED_MS);
    return () => clearTimeout(timer);
  }, [text, value, onTyped]);
  return (
    <div className={css.search}>
      <Search aria-hidden />
      <TextField
        label="Search in titles and first words"
        isLabelUnseen
        type="search"
        placeholder="Search in titles and first words"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
    </div>
  );
}

function useFilters(): readonly [Filters, (name: string, value: string) => void] {
  const [params, setParams] = useSearchParams();
  const status = params.get("status") ?? "";
  const filters: Filters = {
    text: params.get("q") ?? "",
    status: STATUSES.find((known) => known === status) ?? "",
    agent: params.get("agent") ?? "",
    order: (params.get("order") === "created" ? "created" : "active") satisfies SessionOrder,
  };
  const set = (name: string, value: string) => {
    const next = new URLSearchParams(params);
    if (value === "") next.delete(name);
    else next.set(name, value);
    setParams(next, { replace: true });
  };
  return [filters, set];
}
