import MartletMail

/// The templates, in English and German, for apps without their own.
enum BuiltInTemplates {
    static let languages = ["en", "de"]

    static func template(_ kind: MailKind, _ language: String) -> MailTemplate? {
        all[language]?[kind]
    }

    private struct Words {
        var subject: String
        /// Paragraphs. One that consists only of `{{code}}` or `{{link}}` is shown in large type or as a button.
        var paragraphs: [String]
        /// The label of the button.
        var action = ""
    }

    private static let all: [String: [MailKind: MailTemplate]] = ["en": english, "de": german].mapValues { words in
        words.reduce(into: [:]) { templates, entry in templates[entry.key] = try? make(entry.key, entry.value) }
    }

    private static let english: [MailKind: Words] = [
        .verifyEmail: Words(
            subject: "{{app}}: confirm your e-mail address",
            paragraphs: [
                "Please confirm that {{email}} is your address at {{app}}. This is your code:", "{{code}}", "{{link}}",
                "The code and the link are valid for {{duration}}. If you did not request this, you can ignore this mail.",
            ], action: "Confirm the address"),
        .resetPassword: Words(
            subject: "{{app}}: choose a new password",
            paragraphs: [
                "Someone, hopefully you, has asked to choose a new password for {{email}} at {{app}}. This is the code:",
                "{{code}}", "{{link}}",
                "The code and the link are valid for {{duration}}. If it was not you, ignore this mail and your password stays the same. Do not share the code with anyone.",
            ], action: "Choose a password"),
        .signIn: Words(
            subject: "{{app}}: your code is {{code}}",
            paragraphs: [
                "Use this code to sign in to {{app}}:", "{{code}}", "{{link}}",
                "The code and the link can be used once, within {{duration}}. If you did not request this, you can ignore this mail. Do not share the code with anyone.",
            ], action: "Sign in"),
        .changeEmail: Words(
            subject: "{{app}}: confirm your new e-mail address",
            paragraphs: [
                "Please confirm that {{email}} should be your new address at {{app}}. This is your code:", "{{code}}",
                "{{link}}",
                "The code and the link are valid for {{duration}}. If you did not request this, you can ignore this mail.",
            ], action: "Confirm the address"),
        .invitation: Words(
            subject: "You are invited to {{app}}",
            paragraphs: [
                "You are invited to {{app}}. Sign up with the address {{email}} and this code:", "{{code}}", "{{link}}",
                "The invitation can be used once, within {{duration}}.",
            ], action: "Sign up"),
        .roleInvitation: Words(
            subject: "You are invited to join {{role}} at {{app}}",
            paragraphs: [
                "You are invited to join “{{role}}” at {{app}}. Sign in to the app and enter this code:", "{{code}}",
                "{{link}}",
                "The code can be used once, within {{duration}}. If you do not know who invited you, ignore this mail.",
            ], action: "Join"),
        .emailChanged: Words(
            subject: "{{app}}: your e-mail address was changed",
            paragraphs: [
                "The address of your account at {{app}} was changed from {{email}} to {{newEmail}} ({{time}}).",
                "If it was not you, please contact the support of {{app}} at once.",
            ]),
        .passwordChanged: Words(
            subject: "{{app}}: your password was changed",
            paragraphs: [
                "The password of your account {{email}} at {{app}} was changed ({{time}}).",
                "If it was not you, choose a new one at once with “forgot password” and contact the support of {{app}}.",
            ]),
        .newDevice: Words(
            subject: "{{app}}: sign-in from a new device",
            paragraphs: [
                "Someone has signed in to your account {{email}} at {{app}} from a new device ({{time}}).{{#device}} It calls itself: {{device}}{{/device}}",
                "If it was not you, end that session and choose a new password.",
            ]),
    ]

    private static let german: [MailKind: Words] = [
        .verifyEmail: Words(
            subject: "{{app}}: E-Mail-Adresse bestätigen",
            paragraphs: [
                "Bitte bestätige, dass {{email}} deine Adresse bei {{app}} ist. Das ist dein Code:", "{{code}}",
                "{{link}}",
                "Code und Link gelten {{duration}}. Falls du das nicht angefordert hast, brauchst du nichts zu tun.",
            ], action: "Adresse bestätigen"),
        .resetPassword: Words(
            subject: "{{app}}: neues Passwort wählen",
            paragraphs: [
                "Jemand, hoffentlich du, möchte für {{email}} bei {{app}} ein neues Passwort wählen. Das ist der Code:",
                "{{code}}", "{{link}}",
                "Code und Link gelten {{duration}}. Falls du es nicht warst, tu nichts: Das Passwort bleibt, wie es ist. Gib den Code niemandem.",
            ], action: "Passwort wählen"),
        .signIn: Words(
            subject: "{{app}}: dein Code ist {{code}}",
            paragraphs: [
                "Mit diesem Code meldest du dich bei {{app}} an:", "{{code}}", "{{link}}",
                "Code und Link gelten einmal und {{duration}} lang. Falls du das nicht angefordert hast, brauchst du nichts zu tun. Gib den Code niemandem.",
            ], action: "Anmelden"),
        .changeEmail: Words(
            subject: "{{app}}: neue E-Mail-Adresse bestätigen",
            paragraphs: [
                "Bitte bestätige, dass {{email}} deine neue Adresse bei {{app}} werden soll. Das ist dein Code:",
                "{{code}}", "{{link}}",
                "Code und Link gelten {{duration}}. Falls du das nicht angefordert hast, brauchst du nichts zu tun.",
            ], action: "Adresse bestätigen"),
        .invitation: Words(
            subject: "Einladung zu {{app}}",
            paragraphs: [
                "Du bist zu {{app}} eingeladen. Registriere dich mit der Adresse {{email}} und diesem Code:",
                "{{code}}", "{{link}}",
                "Die Einladung gilt einmal und {{duration}} lang.",
            ], action: "Registrieren"),
        .roleInvitation: Words(
            subject: "Einladung zu {{role}} bei {{app}}",
            paragraphs: [
                "Du bist bei {{app}} zu „{{role}}“ eingeladen. Melde dich in der App an und gib diesen Code ein:",
                "{{code}}", "{{link}}",
                "Der Code gilt einmal und {{duration}} lang. Falls du nicht weißt, wer dich einlädt, brauchst du nichts zu tun.",
            ], action: "Beitreten"),
        .emailChanged: Words(
            subject: "{{app}}: deine E-Mail-Adresse wurde geändert",
            paragraphs: [
                "Die Adresse deines Kontos bei {{app}} wurde von {{email}} in {{newEmail}} geändert ({{time}}).",
                "Falls du das nicht warst, sag bitte sofort denen Bescheid, die {{app}} betreiben.",
            ]),
        .passwordChanged: Words(
            subject: "{{app}}: dein Passwort wurde geändert",
            paragraphs: [
                "Das Passwort deines Kontos {{email}} bei {{app}} wurde geändert ({{time}}).",
                "Falls du das nicht warst, wähle sofort über „Passwort vergessen“ ein neues und sag denen Bescheid, die {{app}} betreiben.",
            ]),
        .newDevice: Words(
            subject: "{{app}}: Anmeldung von einem neuen Gerät",
            paragraphs: [
                "Jemand hat sich mit deinem Konto {{email}} bei {{app}} von einem bisher nicht benutzten Gerät angemeldet ({{time}}).{{#device}} Es nennt sich: {{device}}{{/device}}",
                "Falls du das nicht warst, beende diese Sitzung und wähle ein neues Passwort.",
            ]),
    ]

    private static func make(_ kind: MailKind, _ words: Words) throws -> MailTemplate {
        let text = words.paragraphs.map { $0 == "{{link}}" ? "{{#link}}{{link}}\n\n{{/link}}" : $0 + "\n\n" }.joined()
        let html = words.paragraphs.map { paragraph in
            switch paragraph {
            case "{{code}}": #"<p style="font-size:1.8em;letter-spacing:0.1em"><strong>{{code}}</strong></p>"#
            case "{{link}}":
                #"{{#link}}<p><a href="{{link}}" style="display:inline-block;padding:0.6em 1.2em;background:#1a56c4;color:#ffffff;text-decoration:none">\#(words.action)</a></p>{{/link}}"#
            default: "<p>\(paragraph)</p>"
            }
        }.joined(separator: "\n")
        return try MailTemplate(
            kind, subject: words.subject, text: text,
            html: #"<div style="font-family:sans-serif;max-width:34em">"# + "\n\(html)\n</div>\n")
    }
}
