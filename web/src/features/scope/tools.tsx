import type { LayerOut, SessionOut, ToolOut } from "../../api/schema.gen.ts";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { Json } from "../../ui/json.tsx";
import { Asked } from "../../ui/notice.tsx";
import { Panel } from "../../ui/panel.tsx";
import { useLayers, useTools } from "./queries.ts";
import css from "./scope.module.css";

/** The tools that the agent is offered, and what keeps others away. */
export function Tools({ session }: { readonly session: SessionOut }) {
  const tools = useTools(session.id);
  const layers = useLayers(session.context_chain);
  const rules = layers.flatMap(rulesOf);
  return (
    <Panel title="Tools">
      <Asked query={tools} what="Reading the tools">
        {(offered) => (
          <>
            {offered.length === 0 && <p className="soft">The agent of this session is offered no tools.</p>}
            <ul className={css.tools}>
              {offered.map((tool) => (
                <Tool key={tool.name} tool={tool} />
              ))}
            </ul>
          </>
        )}
      </Asked>
      {rules.length > 0 && (
        <ul>
          {rules.map((rule) => (
            <li key={rule}>{rule}</li>
          ))}
        </ul>
      )}
      <p className={css.small}>
        A tool that is not listed is not registered here, or the policy or a layer does not permit it. When an agent
        asks for it all the same it is denied, and the page Why of that turn says so.
      </p>
    </Panel>
  );
}

const GATES: Readonly<Record<string, readonly [Tone, string]>> = {
  auto: ["good", "may be called"],
  notify: ["info", "may be called, and is told"],
  review: ["info", "may be called, and is looked at afterwards"],
  approve: ["warn", "a person is asked first"],
};

function Tool({ tool }: { readonly tool: ToolOut }) {
  const [tone, words] = GATES[tool.gate] ?? (["neutral", tool.gate] as const);
  return (
    <li>
      <span className="row">
        <code>{tool.name}</code>
        <Badge tone={tone}>{words}</Badge>
        <Badge>{tool.safety_mode.replaceAll("_", " ")}</Badge>
      </span>
      <span>{tool.description}</span>
      <details>
        <summary>What it takes</summary>
        <Json value={tool.parameters} />
      </details>
    </li>
  );
}

function rulesOf({ level, name, terms }: LayerOut): readonly string[] {
  return [
    ...(terms.allowed_tools === null
      ? []
      : [`The ${level} “${name}” allows only: ${terms.allowed_tools.join(", ") || "none"}.`]),
    ...(terms.blocked_tools.length === 0 ? [] : [`The ${level} “${name}” blocks: ${terms.blocked_tools.join(", ")}.`]),
  ];
}
