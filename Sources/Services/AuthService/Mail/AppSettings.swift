import MartletAPI
import MartletCore
import MartletHTTP

/// An app's settings for sign-up and mail, separate for live and test.
struct AppSettings: Codable, Sendable, Equatable {
    /// Signing up requires an invitation.
    var inviteOnly = false
    /// Refuses sign-up with addresses of disposable mail providers, whose mail everyone can read.
    var refuseDisposable = false
    /// Signing in by mail with an unknown address creates an account.
    var signUpByMail = false
    /// Signing up requires an address, and signing in by password or passkey requires that it is verified.
    var requireVerifiedEmail = false
    /// Mails a verification code to users who sign up with an address.
    var verifyOnSignUp = true
    /// Notifies users by mail of sign-ins from new devices and of changes to their password or address.
    var notices = true
    /// The URLs that links in mail may lead to, each with `{token}` in it. The first is used if the request names none.
    var linkURLs: [String] = []
    /// The language of mail to users whose language is not known.
    var language = "en"
    var mailsPerHour = 1_000

    init() {}

    static let names: Set<String> = Set(CodingKeys.allCases.map(\.rawValue))

    /// Reads all settings. Missing fields get their defaults.
    ///
    /// - Throws: `invalid-body` with the field.
    init(_ fields: BodyFields) throws {
        inviteOnly = try fields.flag("inviteOnly") ?? inviteOnly
        refuseDisposable = try fields.flag("refuseDisposable") ?? refuseDisposable
        signUpByMail = try fields.flag("signUpByMail") ?? signUpByMail
        requireVerifiedEmail = try fields.flag("requireVerifiedEmail") ?? requireVerifiedEmail
        verifyOnSignUp = try fields.flag("verifyOnSignUp") ?? verifyOnSignUp
        notices = try fields.flag("notices") ?? notices
        linkURLs = try fields.strings("linkURLs") ?? linkURLs
        guard linkURLs.count <= 20, Set(linkURLs).count == linkURLs.count else {
            throw ServiceError(
                .invalidBody, "Expected at most 20 distinct URLs, found \(linkURLs.count).", field: "linkURLs")
        }
        for url in linkURLs { try MailLink.check(url, field: "linkURLs") }
        language = try fields.string("language").map { try LanguageTag($0, field: "language").text } ?? language
        mailsPerHour = try fields.integer("mailsPerHour", in: 1...1_000_000) ?? mailsPerHour
    }

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case inviteOnly, refuseDisposable, signUpByMail, requireVerifiedEmail, verifyOnSignUp, notices, linkURLs,
            language, mailsPerHour
    }

    /// Stored settings may come from an older version; missing members get their defaults.
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func value<Value: Decodable>(_ key: CodingKeys, _ default: Value) throws -> Value {
            try container.decodeIfPresent(Value.self, forKey: key) ?? `default`
        }
        inviteOnly = try value(.inviteOnly, inviteOnly)
        refuseDisposable = try value(.refuseDisposable, refuseDisposable)
        signUpByMail = try value(.signUpByMail, signUpByMail)
        requireVerifiedEmail = try value(.requireVerifiedEmail, requireVerifiedEmail)
        verifyOnSignUp = try value(.verifyOnSignUp, verifyOnSignUp)
        notices = try value(.notices, notices)
        linkURLs = try value(.linkURLs, linkURLs)
        language = try value(.language, language)
        mailsPerHour = try value(.mailsPerHour, mailsPerHour)
    }
}
