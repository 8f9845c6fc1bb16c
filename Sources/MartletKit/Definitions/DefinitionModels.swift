import Foundation

/// Loads models: data of the app's own server, or of an https address, kept for when there is no connection.
struct DefinitionModels: Sendable {
    private static let maximumSize = 4 << 20
    private static let maximumFiles = 500

    let api: APIClient
    let folder: LocalFolder

    /// Whether a text is an address, not another value.
    static func isAddress(_ text: String) -> Bool {
        text.hasPrefix("/") || text.hasPrefix("https://") || text.hasPrefix("http://")
    }

    /// What the address answers now, or what it answered last if it cannot be reached.
    ///
    /// - Parameter isFromData: Whether the address comes from a model, so not from the app's author. Of the app's own
    ///   server, such an address opens storage only.
    func load(_ address: String, isFromData: Bool = false) async throws -> JSON {
        let user = try await api.session.current()?.user.id
        let file = Self.prefix(user) + SHA256Digest.hexadecimal(Data(address.utf8)) + ".json"
        do {
            let json = try await fetch(address, isFromData: isFromData)
            keep(json, as: file)
            return json
        } catch let error as MartletError where error.isConnectionFailure || (error.status ?? 0) >= 500 {
            guard let answer = folder.readJSON(file) else { throw error }
            return answer
        }
    }

    /// Removes what other users' models were, of all definitions.
    static func forget(allBut user: String?, in folder: LocalFolder) {
        for definition in folder.names.map(folder.subfolder) {
            for name in definition.names where name.hasPrefix("model-") && !name.hasPrefix(prefix(user)) {
                definition.remove(name)
            }
        }
    }

    /// Files belong to a user, or to nobody.
    private static func prefix(_ user: String?) -> String {
        "model-" + (user.map { SHA256Digest.hexadecimal(Data($0.utf8)) } ?? "nobody") + "-"
    }

    /// Creates an object in the collection at the address. Data goes to the app's own server only.
    func submit(_ object: JSON, to address: String) async throws {
        guard let path = Self.path(address) else { throw Self.badAddress(address) }
        try await api.send(.write("POST", path, json: object))
    }

    private func fetch(_ address: String, isFromData: Bool) async throws -> JSON {
        if let path = Self.path(address), !isFromData || path.hasPrefix("storage/") {
            return try await Self.json(api.send(APIRequest("GET", path)).body)
        }
        guard !address.hasPrefix("/"), let url = URL(string: address), let host = url.host, !host.isEmpty else {
            throw Self.badAddress(address)
        }
        // Without the app's secret and the user's session.
        let timeout = HTTPRequest.Timeout.total(api.configuration.timeout)
        let answer = try await api.configuration.transport.send(
            HTTPRequest(method: "GET", url: url, timeout: timeout), progress: nil)
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

    /// A path of the app's own server, without the slash; nil for others and for what leads out of the app.
    private static func path(_ address: String) -> String? {
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
        let others = folder.names.filter { $0.hasPrefix("model-") && $0 != file }
        if others.count >= Self.maximumFiles { others.first.map(folder.remove) }
        try? folder.write(data, to: file)
    }
}
