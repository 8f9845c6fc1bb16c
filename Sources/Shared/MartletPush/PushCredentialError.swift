/// A credential that cannot be used. Its own text is in none of the cases.
public enum PushCredentialError: Error, Sendable, Equatable {
    case invalidTeamID
    case invalidKeyID
    /// - Parameter expected: what it should have been.
    case invalidPrivateKey(expected: String)
    /// A member of a service account's JSON is missing or is not what it should be.
    case invalidServiceAccount(member: String)
    case invalidSubject

    /// For whoever uploads it.
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
