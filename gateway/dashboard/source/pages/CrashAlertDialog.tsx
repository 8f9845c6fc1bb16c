// Adds or changes an alert about crashes.

import { useState } from "react";
import type { CrashAlert } from "../../generated/api";
import { request } from "../api/client";
import { session } from "../api/session";
import { callIn, given, usePlace } from "../shell/place";
import { Dialog } from "../system/dialog";
import { Check, Choice, errorOf, Form, listOf, TextField } from "../system/form";
import { useLoad } from "../system/load";
import { say } from "../system/toast";
import { t } from "../text";
import { alertKinds } from "./CrashAlerts";

type Kind = CrashAlert["kind"];
type TargetType = CrashAlert["target"]["type"];
type Level = NonNullable<CrashAlert["levels"]>[number];

const levels: Level[] = ["fatal", "error", "warning", "info", "debug"];
const fieldNames = ["name", "releases", "threshold", "windowSeconds", "windowDays", "minimum", "target"];

export function CrashAlertDialog(
  { stored, close, done }: { stored: CrashAlert | null; close: () => void; done: (secret: string) => void }
) {
  const place = usePlace();
  const isReadOnly = stored !== null && !place.may("crashes", "update");
  const [alert, set] = useState<CrashAlert>(
    stored ?? { name: "", kind: "newIssue", enabled: true, levels: [], releases: [], target: { type: "webhook" } }
  );
  const [releases, setReleases] = useState((alert.releases ?? []).join("\n"));
  const [problem, report] = useState<unknown>(undefined);
  const change = (part: Partial<CrashAlert>) => set({ ...alert, ...part });
  const send = async () => {
    const body = bodyOf({ ...alert, releases: listOf(releases) });
    let secret = "";
    if (stored?.id) {
      await callIn(place, "PUT /admin/apps/{app}/crashes/alerts/{alert}", { path: { alert: stored.id }, body });
    } else secret = (await callIn(place, "POST /admin/apps/{app}/crashes/alerts", { body })).secret ?? "";
    say(t("Saved"));
    done(secret);
  };
  const count = (name: "threshold" | "windowDays" | "minimum" | "windowSeconds", label: string, factor = 1) => (
    <TextField
      label={label}
      type="number"
      value={String((alert[name] ?? NaN) / factor).replace("NaN", "")}
      change={(next) => change({ [name]: next === "" ? undefined : Number(next) * factor })}
      isRequired={name !== "minimum"}
      isOptional={name === "minimum"}
      isDisabled={isReadOnly}
      error={errorOf(name, problem)} />
  );
  return (
    <Dialog title={stored?.name ?? t("New alert")} close={close} isWide>
      <Form
        send={send}
        action={t("Save")}
        cancel={close}
        report={report}
        fields={fieldNames}
        isReadOnly={isReadOnly}>
        <TextField
          label={t("Name")}
          value={alert.name}
          change={(name) => change({ name })}
          isRequired
          autoFocus
          isDisabled={isReadOnly}
          error={errorOf("name", problem)} />
        <Choice
          label={t("When")}
          value={alert.kind}
          isDisabled={isReadOnly}
          change={(kind) => change({ kind, measure: kind === "crashFree" ? "sessions" : "events" })}
          options={(Object.keys(alertKinds) as Kind[]).map((kind) => ({ value: kind, title: t(alertKinds[kind]) }))} />
        {alert.kind === "rate" && (
          <div className="pair">
            {count("threshold", t("Reports"))}
            {count("windowSeconds", t("within how many minutes"), 60)}
            <Choice
              label={t("Counted")}
              value={alert.scope ?? "issue"}
              isDisabled={isReadOnly}
              change={(scope) => change({ scope })}
              options={[{ value: "issue", title: t("each issue alone") }, {
                value: "app",
                title: t("all together")
              }]} />
          </div>
        )}
        {alert.kind === "crashFree" && (
          <div className="pair">
            {count("threshold", t("Less than this percentage"))}
            {count("windowDays", t("within how many days"))}
            {count("minimum", t("Only from this many sessions"))}
          </div>
        )}
        {alert.kind !== "crashFree" && (
          <fieldset>
            <legend className="strong">{t("Only these levels; none means all")}</legend>
            <div className="row">
              {levels.map((level) => (
                <Check
                  key={level}
                  label={level}
                  value={alert.levels?.includes(level) ?? false}
                  isDisabled={isReadOnly}
                  change={(isOn) =>
                    change({
                      levels: levels.filter((one) => (one === level ? isOn : alert.levels?.includes(one) ?? false))
                    })} />
              ))}
            </div>
          </fieldset>
        )}
        <TextField
          label={t("Only these releases")}
          value={releases}
          change={setReleases}
          lines={2}
          isCode
          isOptional
          isDisabled={isReadOnly}
          error={errorOf("releases", problem)} />
        <Target alert={alert} change={change} isReadOnly={isReadOnly} error={errorOf("target", problem)} />
        <Check
          label={t("Turned on")}
          value={alert.enabled ?? true}
          change={(enabled) => change({ enabled })}
          isDisabled={isReadOnly} />
      </Form>
    </Dialog>
  );
}

function Target(
  { alert, change, isReadOnly, error }: {
    alert: CrashAlert;
    change: (part: Partial<CrashAlert>) => void;
    isReadOnly: boolean;
    error?: string;
  }
) {
  const place = usePlace();
  const { target } = alert;
  const people = useLoad(async () => {
    const me = session.member();
    const own = me ? [{ id: me.id, name: me.userName }] : [];
    if (!place.may("tickets", "read")) return own;
    const found = (await request("GET /admin/apps/{app}/tickets/people", given(place))).body.data as typeof own;
    return [...own.filter((one) => !found.some((other) => other.id === one.id)), ...found];
  }, [place.app.id]);
  const chosen = target.staff ?? [];
  return (
    <>
      <Choice
        label={t("To")}
        value={target.type}
        isDisabled={isReadOnly}
        change={(type: TargetType) => change({ target: { type } })}
        options={[
          { value: "webhook", title: t("a webhook of your server") },
          { value: "mail", title: t("members of staff, by mail") },
          { value: "notification", title: t("push rules whose “when” is {alert}", { alert: '"alert": "crash"' }) }
        ]} />
      {target.type === "webhook" && (
        <TextField
          label={t("Address")}
          type="url"
          value={target.url ?? ""}
          change={(url) => change({ target: { type: "webhook", url } })}
          isRequired
          isCode
          isDisabled={isReadOnly}
          placeholder="https://example.org/crashes"
          hint={t("An https address on the public internet.")}
          error={error} />
      )}
      {target.type === "mail" && (
        <fieldset>
          <legend className="strong">{t("Who gets the mail")}</legend>
          <div className="row">
            {(people.data ?? []).map((one) => (
              <Check
                key={one.id}
                label={one.name}
                value={chosen.includes(one.id)}
                isDisabled={isReadOnly}
                change={(isOn) =>
                  change({
                    target: {
                      type: "mail",
                      staff: [...chosen.filter((id) => id !== one.id), ...(isOn ? [one.id] : [])]
                    }
                  })} />
            ))}
          </div>
          {error && <p className="error" role="alert">{error}</p>}
        </fieldset>
      )}
    </>
  );
}

/** What the server takes for the kind: it refuses members of another kind and its own. */
function bodyOf(alert: CrashAlert): CrashAlert {
  const { name, kind, enabled, releases, pauseSeconds, target, scope, measure, threshold, windowSeconds } = alert;
  const common = { name, kind, enabled, releases, pauseSeconds, target };
  if (kind === "crashFree") {
    return { ...common, measure, threshold, windowDays: alert.windowDays, minimum: alert.minimum };
  }
  const counted = kind === "rate" ? { scope, measure, threshold, windowSeconds } : {};
  return { ...common, levels: alert.levels, ...counted };
}
