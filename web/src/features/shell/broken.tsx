import { useRouteError } from "react-router";
import { Button } from "../../ui/button.tsx";
import { ProblemNotice } from "../../ui/notice.tsx";

/** A page broke while it was drawn; the rest of the console is a click away. */
export function Broken() {
  const error = useRouteError();
  return (
    <main className="stack" style={{ padding: 24, maxWidth: 640, margin: "0 auto" }}>
      <h1>This page broke</h1>
      <p>Nothing of your conversations is lost: they are kept on the server.</p>
      <ProblemNotice problem={error} />
      <div className="row">
        <Button look="primary" onClick={() => location.reload()}>
          Load it again
        </Button>
        <Button onClick={() => location.assign("/")}>Go to the beginning</Button>
      </div>
    </main>
  );
}
