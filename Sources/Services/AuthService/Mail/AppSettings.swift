import MartletAPI
import MartletCore
import MartletHTTP

/// How users of an app sign up, and what is mailed to them: one set for live and one for test.
struct AppSettings: Codable, Sendable, Equatable {
    /// Signing up needs an invitation.
    var inviteOnly = false
    /// No sign-up with an address of which everybody can read the mail.
    var refuseDisposable = false
    /// Who signs in by mail with an unknown address gets an account.
    var signUpByMail = false
    /// Signing up needs an address, and signing in by password or passkey that it has been verified.
    var requireVerifiedEmail = false
    /// Whoever signs up with an address is mailed a code to verify it.
    var verifyOnSignUp = true
    /// Users are told of sign-ins from new devices, and of a changed password or address.
    var notices = true
    /// Where links in mail may lead, each with `{token}` in it; the first is taken where the request names none.
    var linkURLs: [String] = []
    /// Of mail to whom no better language is known.
    var language = "en"
    var mailsPerHour = 1_000

    init() {}

    static let names: Set<String> = Set(CodingKeys.allCases.map(\.rawValue))

    /// All settings: what is not among the fields is as in a new app.
    ///
    /// - Throws: `invalid-body` naming the field.
    init(_ fields: BodyFields) throws {
        inviteOnly = try fields.flag("inviteOnly") ?? inviteOnly
        refuseDisposable = try fields.flag("refuseDisposable") ?? refuseDisposable
        signUpByMail = try fields.flag("signUpByMail") ?? signUpByMail
        requireVerifiedEmail = try fields.flag("requireVerifiedEmail") ?? requireVerifiedEmail
        verifyOnSignUp = try fields.flag("verifyOnSignUp") ?? verifyOnSignUp
        notices = try fields.flag("notices") ?? notices
        linkURLs = try fields.strings("linkURLs") ?? linkURLs
        guard linkURLs.count <= 20, Set(linkURLs).count == linkURLs.count else {
            throw HTTPProblem(.invalidBody, "There may be 20 different ones.", field: "linkURLs")
        }
        for url in linkURLs { try MailLink.check(url, field: "linkURLs") }
        language = try fields.string("language").map { try LanguageTag($0, field: "language").text } ?? language
        mailsPerHour = try fields.integer("mailsPerHour", in: 1...1_000_000) ?? mailsPerHour
    }

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case inviteOnly, refuseDisposable, signUpByMail, requireVerifiedEmail, verifyOnSignUp, notices, linkURLs,
            language, mailsPerHour
    }

    /// What is stored may be of an older version: what it does not say is as in a new app.
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
