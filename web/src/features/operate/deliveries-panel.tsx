import { Link } from "react-router";
import { addresses } from "../../addresses.ts";
import { Badge, Status } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { ProblemNotice } from "../../ui/notice.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Table } from "../../ui/table.tsx";
import { When } from "../../ui/time.tsx";
import css from "./operate.module.css";
import { useRepairs, useUndelivered } from "./queries.ts";

/** Answers that did not reach their channel; nothing is shown while there are none. */
export function DeliveriesPanel() {
  const found = useUndelivered(true);
  const { retry } = useRepairs();
  if (found.error !== null) return <ProblemNotice problem={found.error} onRetried={() => void found.refetch()} />;
  if (found.data === undefined || found.data.length === 0) return null;
  return (
    <Panel title="Answers that did not go out" aside={<Badge tone="bad">{found.data.length}</Badge>}>
      <p className="soft">
        Of those that are unknown nobody can say whether they arrived: sent again, they may arrive twice.
      </p>
      <Table
        caption="Answers that did not go out"
        columns={[
          { title: "Status", of: (delivery) => <Status of={delivery.status} /> },
          { title: "Channel", of: (delivery) => delivery.channel },
          { title: "To", of: (delivery) => delivery.to },
          {
            title: "Text",
            of: (delivery) => (
              <Link to={addresses.session(delivery.session_id)} className={css.said ?? ""}>
                {delivery.text}
              </Link>
            ),
          },
          { title: "Why", of: (delivery) => delivery.error ?? "not told" },
          { title: "Since", of: (delivery) => <When at={delivery.created_at} /> },
          {
            title: "What to do",
            of: (delivery) => (
              <Button isBusy={retry.isPending} onClick={() => retry.mutate(delivery.id)}>
                Send again
              </Button>
            ),
          },
        ]}
        rows={found.data}
        keyOf={(delivery) => delivery.id}
      />
    </Panel>
  );
}
