import { type FormEvent, useState } from "react";
import { Link, useSearchParams } from "react-router";
import { addresses } from "../../addresses.ts";
import { Button } from "../../ui/button.tsx";
import { SelectField, TextField } from "../../ui/field.tsx";
import { Page } from "../../ui/panel.tsx";
import { ArtifactView } from "./artifact-view.tsx";
import css from "./artifacts.module.css";
import { Artifacts } from "./artifacts.tsx";
import { ManifestView } from "./manifest-view.tsx";
import { PointerView } from "./pointer-view.tsx";
import { Pointers } from "./pointers.tsx";

const KINDS = ["artifact", "manifest", "pointer"] as const;
type Kind = (typeof KINDS)[number];

/** Content that outlives its session: artifacts, manifests that hold them, and pointers that move between manifests. */
export function ArtifactsPage() {
  const [params] = useSearchParams();
  const kind = KINDS.find((each) => params.has(each));
  const id = kind === undefined ? "" : (params.get(kind) ?? "");
  const against = params.get("against") ?? undefined;
  return (
    <Page title="Artifacts" aside={kind !== undefined && <Link to={addresses.artifacts}>All of them</Link>}>
      <p className="soft">
        An artifact is content, known by its hash. A manifest is a tree of artifacts. A pointer is a name that moves
        from manifest to manifest and remembers where it was. None of them can be changed, only added to.
      </p>
      <LookUp />
      {kind === undefined && (
        <>
          <Pointers />
          <Artifacts />
        </>
      )}
      {kind === "artifact" && <ArtifactView key={id} id={id} against={against} />}
      {kind === "manifest" && <ManifestView key={id} sha256={id} against={against} />}
      {kind === "pointer" && <PointerView key={id} id={id} />}
    </Page>
  );
}

function LookUp() {
  const [, setParams] = useSearchParams();
  const [kind, setKind] = useState<Kind>("artifact");
  const [id, setId] = useState("");
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    setParams({ [kind]: id.trim() });
  };
  return (
    <form className={css.lookUp} onSubmit={onSubmit}>
      <SelectField label="Look up" value={kind} onChange={(event) => setKind(event.target.value as Kind)}>
        {KINDS.map((each) => (
          <option key={each}>{each}</option>
        ))}
      </SelectField>
      <TextField label="By its hash or id" required value={id} onChange={(event) => setId(event.target.value)} />
      <Button type="submit">Show</Button>
    </form>
  );
}
