/// The scopes that a client may request (OpenID Connect Core 1.0 §5.4, §11).
enum ProviderScope: String, Sendable, CaseIterable {
    case openID = "openid"
    case profile
    case email
    case offlineAccess = "offline_access"

    /// A description of the scope for the user.
    var label: String {
        switch self {
        case .openID: "know who you are by an id"
        case .profile: "see your user name and your name"
        case .email: "see your e-mail address"
        case .offlineAccess: "keep this access when you are away"
        }
    }
}

extension [ProviderScope] {
    /// The known scopes in a space-separated list (RFC 6749 §3.3), each once, in declaration order.
    init(list: String) {
        let requested = Set(list.split(separator: " ").map(String.init))
        self = ProviderScope.allCases.filter { requested.contains($0.rawValue) }
    }

    init(names: [String]) {
        self = ProviderScope.allCases.filter { names.contains($0.rawValue) }
    }

    var names: [String] { map(\.rawValue) }
    var list: String { names.joined(separator: " ") }
}
