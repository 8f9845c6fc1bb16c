// An audience of push messages: every condition that it names must hold for a device.

import { callIn, usePlace } from "../shell/place";
import { Check, Choice, errorOf } from "../system/form";
import { useLoad } from "../system/load";
import { own } from "../system/own";
import { t } from "../text";
import { Conditions } from "./FlagConditions";
import { flagGrammar, Grammar, isRecord, isText, Members, readPlain, withMember, without, writeWhen } from "./flagRules";
import { NamesField, NotShown, Wrong } from "./TypedInputs";

const platforms = ["ios", "macos", "watchos", "tvos", "visionos", "android", "web"];

/** What is known of an installation. */
const installationGrammar: Grammar = {
  ...flagGrammar,
  attributes: [
    "platform",
    "appVersion",
    "osVersion",
    "deviceModel",
    "language",
    "country",
    "locale",
    "timeZone",
    "userId",
    "channels",
    "attributes.",
    "badge",
    "created",
    "seen",
    "service",
    "id",
    "now"
  ],
  lists: ["channels"]
};

/** The members that the form shows. A segment cannot name another segment. */
const shown = ["everyone", "platforms", "channels", "users", "installations", "where", "except"];
/** Those that show the server's error at their place. */
const withError = ["channels", "users", "installations", "except"];

export function AudienceFields(
  { audience, change, problem, mayNameSegment = false }: {
    audience: Members;
    change: (audience: Members) => void;
    problem: unknown;
    mayNameSegment?: boolean;
  }
) {
  const set = (name: string) => (value: unknown) => change(withMember(audience, name, value));
  const given = (name: string) => own(audience, name) ?? undefined;
  const everyone = given("everyone");
  const chosen = given("platforms") ?? [];
  const when = readPlain(given("where"), installationGrammar);
  const rest = without(audience, mayNameSegment ? [...shown, "segment"] : shown);
  const except = given("except");
  const excepted = except === undefined ? {} : except;
  return (
    <>
      <p className="note">{t("A device is in the audience if all of this applies to it. What is empty applies to all.")}</p>
      {everyone === undefined || typeof everyone === "boolean" ?
        (
          <Check
            label={t("Everybody")}
            hint={t("Needed if nothing else is chosen, so that no message goes to all by mistake.")}
            value={everyone === true}
            change={(isOn) => set("everyone")(isOn || undefined)} />
        ) :
        <NotShown value={{ everyone }} />}
      {mayNameSegment && <SegmentField value={given("segment")} change={set("segment")} problem={problem} />}
      {Array.isArray(chosen) && chosen.every((one) => platforms.includes(one)) ?
        (
          <fieldset>
            <legend className="strong">{t("Only these platforms; none means all")}</legend>
            <div className="row">
              {platforms.map((platform) => (
                <Check
                  key={platform}
                  label={platform}
                  value={chosen.includes(platform)}
                  change={(isOn) => {
                    const next = platforms.filter((one) => (one === platform ? isOn : chosen.includes(one)));
                    set("platforms")(next.length > 0 ? next : undefined);
                  }} />
              ))}
            </div>
          </fieldset>
        ) :
        <NotShown value={{ platforms: chosen }} />}
      <NamesField
        label={t("In one of these channels")}
        value={given("channels")}
        change={set("channels")}
        placeholder="news, sport"
        error={errorOf("audience.channels", problem)} />
      <NamesField
        label={t("Ids of users")}
        value={given("users")}
        change={set("users")}
        error={errorOf("audience.users", problem)} />
      <NamesField
        label={t("Ids of installations")}
        value={given("installations")}
        change={set("installations")}
        error={errorOf("audience.installations", problem)} />
      {isRecord(excepted) && Object.keys(excepted).every((name) => name === "users") ?
        (
          <NamesField
            label={t("Without these users")}
            value={own(excepted, "users") ?? undefined}
            change={(users) => set("except")(users && { users })}
            error={errorOf("audience.except", problem)} />
        ) :
        (
          <>
            <NotShown value={{ except }} />
            <Wrong problem={problem} of={["audience.except"]} />
          </>
        )}
      {when ?
        (
          <Conditions
            when={when}
            change={(next) => set("where")(writeWhen(next))}
            grammar={installationGrammar}
            title={t("Devices for which this holds")}
            empty={t("All of them.")} />
        ) :
        <NotShown value={{ where: given("where") }} />}
      <Wrong
        problem={problem}
        of={["audience"]}
        except={[...withError, ...(mayNameSegment ? ["segment"] : [])].map((name) => "audience." + name)} />
      {Object.keys(rest).length > 0 && <NotShown value={rest} />}
    </>
  );
}

function SegmentField(
  { value, change, problem }: { value: unknown; change: (value: unknown) => void; problem: unknown }
) {
  const place = usePlace();
  const segments = useLoad(() => callIn(place, "GET /admin/apps/{app}/notifications/segments"), [
    place.app.id,
    place.environment
  ]);
  if (value !== undefined && !isText(value)) {
    return (
      <>
        <NotShown value={{ segment: value }} />
        <Wrong problem={problem} of={["audience.segment"]} />
      </>
    );
  }
  const present = String(value ?? "");
  const names = (segments.data?.data ?? []).map((one) => one.name ?? "");
  return (
    <Choice
      label={t("Segment")}
      value={present}
      change={(name) => change(name || undefined)}
      error={errorOf("audience.segment", problem)}
      options={["", ...new Set([...names, present].filter(Boolean))].map((one) => ({
        value: one,
        title: one || t("No segment")
      }))} />
  );
}
