import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { letIn } from "../../api/door.ts";
import { logIn } from "../../api/me.ts";
import { Button } from "../../ui/button.tsx";
import { TextField } from "../../ui/field.tsx";
import { ProblemNotice } from "../../ui/notice.tsx";
import { usePageTitle } from "../../ui/title.ts";
import css from "./login-page.module.css";

/** The door: shows a token once and is given a cookie for it. */
export function LoginPage({ problem }: { readonly problem?: unknown }) {
  usePageTitle("Log in");
  const [token, setToken] = useState("");
  const queries = useQueryClient();
  const entering = useMutation({ mutationFn: logIn, onSuccess: (who) => letIn(queries, who) });
  const enter = (event: FormEvent) => {
    event.preventDefault();
    entering.mutate(token.trim());
  };
  const refused = entering.error ?? problem;
  return (
    <main className={css.door}>
      <form className={css.card} onSubmit={enter}>
        <img src="/console/icon.svg" alt="" width="40" height="40" />
        <h1>Open the console</h1>
        <p className="soft">
          Use the link that the server printed when it started, or paste its token or an API key here. It is turned into
          a cookie and kept nowhere else.
        </p>
        <TextField
          label="Token"
          type="password"
          autoComplete="off"
          required
          value={token}
          onChange={(event) => setToken(event.target.value)}
        />
        {refused !== undefined && refused !== null && <ProblemNotice problem={refused} />}
        <Button look="primary" type="submit" isBusy={entering.isPending}>
          Log in
        </Button>
      </form>
    </main>
  );
}
