// Where the app's passkeys belong to. Without these settings nobody can make or use one.

import { useState } from "react";
import type { PasskeySettings } from "../../generated/api";
import { callIn, usePlace } from "../shell/place";
import { Button, Notice, Show } from "../system/basics";
import { useConfirm } from "../system/dialog";
import { errorOf, Form, listOf, TextField } from "../system/form";
import { useLoad } from "../system/load";
import { say } from "../system/toast";
import { t } from "../text";

const path = "/admin/apps/{app}/auth/passkeys/settings";

export function Passkeys() {
  const place = usePlace();
  const settings = useLoad(() => callIn(place, `GET ${path}`), [place.app.id, place.environment]);
  return (
    <Show from={settings} lines={5}>
      {(found) => <Fields key={found.rpId ?? ""} stored={found.rpId ? found : null} changed={settings.reload} />}
    </Show>
  );
}

function Fields({ stored, changed }: { stored: PasskeySettings | null; changed: () => void }) {
  const place = usePlace();
  const [domain, setDomain] = useState(stored?.rpId ?? "");
  const [name, setName] = useState(stored?.rpName ?? place.app.name);
  const [origins, setOrigins] = useState((stored?.origins ?? []).join("\n"));
  const [problem, report] = useState<unknown>(undefined);
  const [dialog, ask] = useConfirm();
  const isReadOnly = !place.may("users", "update");
  const store = async () => {
    await callIn(place, `PUT ${path}`, { body: { rpId: domain.trim(), rpName: name, origins: listOf(origins) } });
    say(t("Saved"));
    changed();
  };
  // Passkeys are bound to the domain, so a change of it cannot be undone.
  const send = async () => {
    if (!stored || stored.rpId === domain.trim()) return store();
    ask({
      title: t("Move passkeys to {name}?", { name: domain.trim() }),
      action: t("Save"),
      text: t("Passkeys of {name} no longer work. Their users need another way to sign in.", {
        name: stored.rpId ?? ""
      }),
      act: store
    });
  };
  const remove = () =>
    ask({
      title: t("Turn passkeys off?"),
      action: t("Turn off"),
      text: t("Nobody can sign in with a passkey until there are settings again. Passkeys are kept."),
      act: async () => {
        await callIn(place, `DELETE ${path}`);
        changed();
      }
    });
  return (
    <div className="form-page stack">
      {!stored && <Notice>{t("Passkeys are not set up: users cannot make or use any.")}</Notice>}
      <Form
        send={send}
        action={t("Save")}
        fields={["rpId", "rpName", "origins"]}
        report={report}
        isReadOnly={isReadOnly}
        isDisabled={!domain.trim() || !origins.trim()}
        extra={stored && place.may("users", "delete") && <Button kind="danger" onPress={remove}>{t("Turn off")}
        </Button>}>
        <TextField
          label={t("Domain")}
          value={domain}
          change={setDomain}
          isCode
          isRequired
          isDisabled={isReadOnly}
          placeholder="example.org"
          hint={t("Passkeys are bound to it for good. To try them out on this machine, use localhost.")}
          error={errorOf("rpId", problem)} />
        <TextField
          label={t("Name that users see")}
          value={name}
          change={setName}
          isRequired
          maximumLength={64}
          isDisabled={isReadOnly}
          error={errorOf("rpName", problem)} />
        <TextField
          label={t("Where the app runs")}
          value={origins}
          change={setOrigins}
          lines={4}
          isCode
          isRequired
          isDisabled={isReadOnly}
          placeholder={"https://example.org\nandroid:apk-key-hash:…"}
          hint={t("One a line: https:// and the domain or a subdomain, or the hash of the Android app's certificate.")}
          error={errorOf("origins", problem)} />
      </Form>
      {dialog}
    </div>
  );
}
