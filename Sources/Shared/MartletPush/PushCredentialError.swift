/// A credential that cannot be used. No case contains the credential's own text.
public enum PushCredentialError: Error, Sendable, Equatable {
    case invalidTeamID
    case invalidKeyID
    /// - Parameter expected: A description of a valid key.
    case invalidPrivateKey(expected: String)
    /// A member of a service account's JSON is missing or invalid.
    case invalidServiceAccount(member: String)
    case invalidSubject

    /// An explanation for the person who uploads the credential.
    public var sentence: String {
        switch self {
        case .invalidTeamID: "The team id must have 10 capital letters and digits."
        case .invalidKeyID: "The key id must have 10 capital letters and digits."
        case .invalidPrivateKey(let expected): "The private key must be \(expected)."
        case .invalidServiceAccount(let member): "The service account's JSON has no valid '\(member)'."
        case .invalidSubject: "The subject must be a mailto: or https: URL."
        }
    }
}
