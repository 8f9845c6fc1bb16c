import Foundation
import MartletHTTP
import MartletMail

/// Settings for apps' mail: those of `MailSettings`, `public.url` (http://127.0.0.1:8080, the base of unsubscribe
/// links), `mail.limit.app` (1000) and `mail.limit.address` (20), both per hour, `mail.limit.day` (ten times
/// `mail.limit.app`), and `mail.retention.days` (90).
struct AppMailOptions: Sendable {
    var server = MailSettings()
    var publicURL = URL(string: "http://127.0.0.1:8080")!
    /// The limit for one environment of an app, per hour.
    var mailsPerHour = 1_000
    /// The same limit per day.
    var mailsPerDay = 10_000
    /// The limit per address and hour.
    var mailsPerAddressAndHour = 20
    /// How long records of mail are kept.
    var retentionInDays = 90
    /// Nil: contacts come from the auth service.
    var contacts: MailContactClient?

    init() {}

    /// - Throws: `SettingsError`.
    init(_ settings: Settings) throws {
        server = try MailSettings(settings)
        publicURL = try settings.url("public.url", default: publicURL)
        mailsPerHour = try settings.integer("mail.limit.app", default: mailsPerHour, in: 1...1_000_000)
        mailsPerDay = try settings.integer("mail.limit.day", default: 10 * mailsPerHour, in: 1...10_000_000)
        mailsPerAddressAndHour = try settings.integer(
            "mail.limit.address", default: mailsPerAddressAndHour, in: 1...10_000)
        retentionInDays = try settings.integer("mail.retention.days", default: retentionInDays, in: 1...3_650)
    }
}
