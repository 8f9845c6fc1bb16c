// A/B tests: the document, the state of the test, and its results as charts and sentences.

import { useState } from "react";
import { request, Tagged } from "../api/client";
import { Problem } from "../api/problem";
import { given, usePlace } from "../shell/place";
import { Badge, Button, Tone } from "../system/basics";
import { Dialog, useConfirm } from "../system/dialog";
import { Choice, Form, TextField } from "../system/form";
import type { Finding } from "../system/json";
import { lazy } from "../system/lazy";
import { Loaded, useLoad } from "../system/load";
import { own } from "../system/own";
import { go, setQuery } from "../system/router";
import { say } from "../system/toast";
import { t, Text } from "../text";
import { DocumentList, Draft, putDraft } from "./document";
import { DocumentPage } from "./DocumentEditor";
import { orNothing } from "./Overview";

const Results = lazy(async () => (await import("./ExperimentResults")).Results);
const Setup = lazy(async () => (await import("./ExperimentSetup")).Setup);
const SampleSize = lazy(async () => (await import("./SampleSize")).SampleSize);

export function ExperimentsPage() {
  const place = usePlace();
  const [isNew, setNew] = useState(false);
  const contents = useLoad(async () => {
    const query = { kind: "experiment" };
    const all = await orNothing(request("GET /admin/apps/{app}/config/export", { ...given(place), query }));
    return new Map<string, Content>(all?.body.documents.map((one: Content & { name: string }) => [one.name, one]));
  }, [place.app.id, place.environment]);
  const about = (name: string) => {
    const content = contents.data?.get(name);
    if (!content) return undefined;
    const { title, state } = content.draft;
    return { title: String(title ?? ""), state: <TestState state={String(content.live?.state ?? state)} /> };
  };
  return (
    <>
      <DocumentList
        about={about}
        kind="experiment"
        page="experiments"
        area="experiments"
        title={t("A/B tests")}
        note={t("Give a share of the users something else for a while, and see which does better.")}
        empty={t("A test compares a control with one or more variations of flags or configurations.")}
        make={<Button kind="primary" icon="plus" onPress={() => setNew(true)}>{t("New test")}</Button>} />
      {isNew && <NewExperiment close={() => setNew(false)} />}
    </>
  );
}

function NewExperiment({ close }: { close: () => void }) {
  const place = usePlace();
  const [title, setTitle] = useState("");
  const [name, setName] = useState("");
  const [flag, setFlag] = useState("");
  const [value, setValue] = useState("true");
  const [event, setEvent] = useState("");
  const [unit, setUnit] = useState<"device" | "user">("device");
  const suggested = title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 40);
  const key = name || suggested;
  const send = async () => {
    let parsed: unknown = value;
    try {
      parsed = JSON.parse(value);
    } catch { /* a text */ }
    const metric = event.trim() ?
      [{ name: event.trim().toLowerCase().replace(/[^a-z0-9]+/g, "-"), event: event.trim() }] :
      [];
    const variation = flag.trim() ? { key: "variation", flags: { [flag.trim()]: parsed } } : { key: "variation" };
    await putDraft(place, "experiment", key, {
      title,
      state: "draft",
      unit,
      variations: [{ key: "control" }, variation],
      metrics: metric
    }, null);
    go(place.to("experiments/" + encodeURIComponent(key), { tab: "setup" }));
  };
  return (
    <Dialog title={t("New test")} close={close}>
      <Form send={send} action={t("Create")} cancel={close} isDisabled={!key}>
        <TextField
          label={t("What is tested")}
          value={title}
          change={setTitle}
          isRequired
          autoFocus
          placeholder={t("Such as: dark checkout")} />
        <TextField
          label={t("Key")}
          value={key}
          change={setName}
          isCode
          isRequired
          hint={t("Appears in responses and events.")} />
        <div className="pair">
          <TextField label={t("Flag")} value={flag} change={setFlag} isCode isOptional placeholder="new-checkout" />
          <TextField label={t("Its value in the variation")} value={value} change={setValue} isCode />
        </div>
        <TextField
          label={t("Event that counts as success")}
          value={event}
          change={setEvent}
          isOptional
          placeholder="Bought" />
        <Choice
          label={t("Who keeps a variation")}
          value={unit}
          change={setUnit}
          options={[{ value: "device", title: t("Device") }, { value: "user", title: t("User") }]} />
      </Form>
    </Dialog>
  );
}

const states: Record<string, { title: Text; tone: Tone }> = {
  draft: { title: "Draft", tone: "neutral" },
  running: { title: "Running", tone: "good" },
  stopped: { title: "Stopped", tone: "warning" },
  decided: { title: "Decided", tone: "accent" }
};

function TestState({ state }: { state: string }) {
  const { title, tone } = own(states, state) ?? { title: "Draft" as Text, tone: "neutral" as Tone };
  return <Badge tone={tone}>{t(title)}</Badge>;
}

interface Content {
  draft: Record<string, unknown>;
  live?: Record<string, unknown> | null;
}

export function ExperimentPage({ name }: { name: string }) {
  const place = usePlace();
  return (
    <DocumentPage
      kind="experiment"
      name={name}
      area="experiments"
      back={{ to: place.to("experiments"), title: t("A/B tests") }}
      views={[
        { name: "results", title: t("Results"), show: (draft) => <Results name={name} draft={draft} /> },
        {
          name: "setup",
          title: t("Setup"),
          show: (draft, change, _, findings) => (
            <Setup {...{ draft, change, findings }} isReadOnly={!place.may("experiments", "update")} />
          )
        },
        {
          name: "size",
          title: t("Sample size"),
          show: (draft) => (
            <SampleSize variations={Math.max(2, (draft.variations as unknown[] | undefined)?.length ?? 2)} />
          )
        }
      ]}
      actions={(loaded, isChanged, refused) =>
        place.may("experiments", "update") && <Course {...{ name, loaded, isChanged, refused }} />} />
  );
}

function Course(
  { name, loaded, isChanged, refused }: {
    name: string;
    loaded: Loaded<Tagged<Draft>>;
    /** Whether there are edits that a start would leave out. */
    isChanged: boolean;
    refused: (findings: Finding[]) => void;
  }
) {
  const place = usePlace();
  const [dialog, ask] = useConfirm();
  const [isDeciding, setDeciding] = useState(false);
  const state = String(loaded.data?.body.draft["state"] ?? "draft");
  const act = async (verb: "start" | "stop", done: string) => {
    await request(`POST /admin/apps/{app}/config/experiment/{name}/${verb}`, { ...given(place, { name }), body: {} });
    say(done);
    loaded.reload();
  };
  const start = async () => {
    try {
      await act("start", t("The test is running."));
    } catch (error) {
      if (!(error instanceof Problem) || !Array.isArray(error.body.findings)) throw error;
      refused(error.body.findings);
      setQuery({ tab: "setup" });
      say(t("The test was not started"), { detail: t("See the findings, and correct the draft."), tone: "bad" });
    }
  };
  return (
    <>
      <TestState state={state} />
      {(state === "draft" || state === "stopped") && isChanged && (
        <span className="hint">{t("Save the draft before you start the test.")}</span>
      )}
      {(state === "draft" || state === "stopped") && (
        <Button
          kind="primary"
          isDisabled={isChanged}
          onPress={() =>
            ask({
              title: t("Start {name}?", { name }),
              action: t("Start"),
              isDanger: false,
              text: t("A share of the users gets the variations within a second."),
              act: start
            })}>
          {t("Start")}
        </Button>
      )}
      {state === "running" && (
        <Button onPress={() => act("stop", t("Stopped: everybody gets what is live."))}>{t("Stop")}</Button>
      )}
      {(state === "running" || state === "stopped") && (
        <Button kind="primary" onPress={() => setDeciding(true)}>{t("Decide")}</Button>
      )}
      {isDeciding && (
        <Decide
          name={name}
          variations={(loaded.data?.body.draft["variations"] ?? []).map((one: { key: string }) => one.key)}
          close={() => setDeciding(false)}
          done={() => {
            setDeciding(false);
            loaded.reload();
          }} />
      )}
      {dialog}
    </>
  );
}

function Decide(
  { name, variations, close, done }: { name: string; variations: string[]; close: () => void; done: () => void }
) {
  const place = usePlace();
  const [variation, setVariation] = useState(variations[0] ?? "");
  const send = async () => {
    await request("POST /admin/apps/{app}/config/experiment/{name}/decide", {
      ...given(place, { name }),
      body: { variation }
    });
    say(t("Decided"));
    done();
  };
  return (
    <Dialog title={t("Decide {name}", { name })} close={close}>
      <Form send={send} action={t("Decide")} cancel={close}>
        <p>
          {t(
            "The test ends, and the configuration of the variation is published. Flags of the variation are yours to publish."
          )}
        </p>
        <Choice
          label={t("The better variation")}
          value={variation}
          change={setVariation}
          options={variations.map((one) => ({ value: one, title: one }))} />
      </Form>
    </Dialog>
  );
}
