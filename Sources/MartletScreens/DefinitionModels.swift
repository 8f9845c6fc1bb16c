import Foundation
import MartletKit

/// Loads models from the app's own server or another https address, and keeps them for use without a connection.
struct DefinitionModels: Sendable {
    static let maximumSize = 4 << 20
    private static let maximumFiles = 500

    let api: APIClient
    let folder: LocalFolder
    /// The total size of a definition's files. Beyond it, the oldest are removed.
    var maximumTotalSize = 64 << 20

    /// Whether a text is an address.
    static func isAddress(_ text: String) -> Bool {
        text.hasPrefix("/") || text.hasPrefix("https://") || text.hasPrefix("http://")
    }

    /// The response of the address, or its last response if it cannot be reached.
    ///
    /// - Parameter isFromData: Whether the address comes from a model, and therefore not from the app's author. On the
    ///   app's own server, such an address gives access to storage only.
    func load(_ address: String, isFromData: Bool = false) async throws -> JSON {
        let user = try await api.session.current()?.user.id
        let file = UserModels.prefix(of: user) + SHA256Digest.hexadecimal(Data(address.utf8)) + ".json"
        do {
            let json = try await fetch(address, as: user, isFromData: isFromData)
            keep(json, as: file)
            // Checked after `keep`, because a sign-out could call `forget` in between.
            guard try await isSignedIn(user) else {
                folder.remove(file)
                throw SessionKeeper.ended
            }
            return json
        } catch let error as MartletError where error.isConnectionFailure || (error.status ?? 0) >= 500 {
            guard let answer = folder.readJSON(file), try await isSignedIn(user) else { throw error }
            return answer
        }
    }

    /// Whether this user is signed in now; nil: whether nobody is.
    private func isSignedIn(_ user: String?) async throws -> Bool { try await api.session.current()?.user.id == user }

    /// Creates an object in the collection at the address. Data goes to the app's own server only.
    func submit(_ object: JSON, to address: String) async throws {
        guard let path = Self.path(address) else { throw Self.badAddress(address) }
        try await api.send(.write("POST", path, json: object))
    }

    private func fetch(_ address: String, as user: String?, isFromData: Bool) async throws -> JSON {
        if let path = Self.path(address), !isFromData || path.hasPrefix("storage/") {
            var request = APIRequest("GET", path)
            request.expectedUser = .some(user)
            request.maximumAnswerSize = Self.maximumSize
            return try await Self.json(api.send(request).body)
        }
        guard !address.hasPrefix("/"), let url = URL(string: address), let host = url.host, !host.isEmpty,
            !isFromData || Self.mayBeInData(url, host)
        else { throw Self.badAddress(address) }
        // Another server gets neither the app's secret nor the user's session.
        let timeout = HTTPRequest.Timeout.total(api.configuration.timeout)
        let answer = try await api.configuration.transport.send(
            HTTPRequest(method: "GET", url: url, timeout: timeout, maximumAnswerSize: Self.maximumSize), progress: nil)
        guard answer.status == 200 else {
            throw MartletError(
                .unexpectedAnswer, "\(host) answered with status \(answer.status).", status: answer.status)
        }
        return try Self.json(answer.body)
    }

    private static func json(_ body: Data) throws -> JSON {
        guard body.count <= maximumSize else {
            throw MartletError(.unexpectedAnswer, "A model may have at most \(maximumSize) bytes.")
        }
        return try JSON(parsing: body)
    }

    /// Whether data may contain this address: it must be https, with a fully qualified host name. The name can still
    /// resolve to a private network.
    private static func mayBeInData(_ url: URL, _ host: String) -> Bool {
        let isName = host.utf8.allSatisfy { byte in
            byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
                || Character(Unicode.Scalar(byte)).isASCIIAlphanumeric
        }
        let labels = host.lowercased().split(separator: ".")
        guard url.scheme?.lowercased() == "https", isName, labels.count > 1, let last = labels.last else {
            return false
        }
        // A host whose last label is a number, decimal or hexadecimal, is an IPv4 address (WHATWG URL, 3.5).
        return last != "localhost" && !last.hasPrefix("0x") && !last.allSatisfy(\.isNumber)
    }

    /// A path of the app's own server, without the slash; nil for other addresses and for paths that lead outside the
    /// app.
    static func path(_ address: String) -> String? {
        guard address.hasPrefix("/"), !address.hasPrefix("//"), address.utf8.count <= 2_048,
            address.utf8.allSatisfy({ (0x21...0x7e).contains($0) && $0 != UInt8(ascii: "#") }),
            !address.contains(".."), !address.lowercased().contains("%2e")
        else { return nil }
        return String(address.dropFirst())
    }

    private static func badAddress(_ address: String) -> MartletError {
        MartletError(.invalidArgument, "This is not an address that a definition may use: \(address.prefix(200))")
    }

    private func keep(_ json: JSON, as file: String) {
        let data = json.data
        guard data.count <= Self.maximumSize else { return }
        var others = folder.files.filter { $0.name.hasPrefix(UserModels.prefix) && $0.name != file }
        others.sort { $0.modified < $1.modified }
        var total = others.reduce(data.count) { $0 + $1.size }
        var count = others.count
        for other in others where total > maximumTotalSize || count >= Self.maximumFiles {
            folder.remove(other.name)
            total -= other.size
            count -= 1
        }
        try? folder.write(data, to: file)
    }
}
