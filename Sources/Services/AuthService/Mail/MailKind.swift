/// The kinds of mail to users. The raw values are the names of templates.
enum MailKind: String, Codable, Sendable, CaseIterable {
    // With a code, and a link if the app has one.
    case verifyEmail = "verify-email"
    case resetPassword = "reset-password"
    case signIn = "sign-in"
    case changeEmail = "change-email"
    case invitation
    case roleInvitation = "role-invitation"

    // Notices.
    case emailChanged = "email-changed"
    case passwordChanged = "password-changed"
    case newDevice = "new-device"

    /// How long the proof in the mail is valid; nil if there is none. Invitations have their own lifetimes.
    var proofLifetimeInSeconds: Int64? {
        switch self {
        case .verifyEmail: 24 * 3_600
        case .resetPassword, .changeEmail: 30 * 60
        case .signIn: 10 * 60
        case .invitation, .roleInvitation, .emailChanged, .passwordChanged, .newDevice: nil
        }
    }

    var hasProof: Bool { proofLifetimeInSeconds != nil || self == .invitation || self == .roleInvitation }

    /// The values that a template may use.
    var values: Set<String> {
        var names: Set = ["app", "email"]
        if hasProof { names.formUnion(["code", "link", "duration", "minutes", "hours"]) }
        switch self {
        case .newDevice: names.formUnion(["device", "time"])
        case .emailChanged: names.formUnion(["newEmail", "time"])
        case .passwordChanged: names.insert("time")
        case .roleInvitation: names.insert("role")
        default: break
        }
        return names
    }
}
