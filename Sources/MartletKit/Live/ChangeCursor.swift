/// A position in a collection's changes. It stays valid across restarts: store it to continue from there.
public struct ChangeCursor: Sendable, Hashable, Codable, RawRepresentable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }
}

extension Query {
    /// The parameters of the change feed and of live streams. Order and limit do not apply to them, and included
    /// objects are refused.
    func followingParameters() throws -> [(name: String, value: String)] {
        let filter = try filter()
        guard includedPaths.isEmpty else {
            throw MartletError(.invalidArgument, "Changes cannot include the objects that fields point to.")
        }
        var parameters: [(name: String, value: String)] = []
        if filter != [:] { parameters.append(("where", filter.text)) }
        if let fieldNames { parameters.append(("keys", fieldNames.joined(separator: ","))) }
        return parameters
    }
}
