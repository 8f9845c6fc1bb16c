import MartletFlagValues
public import MartletKit

extension Martlet {
    /// Lets the device evaluate the flags that say `"localEvaluation": true`.
    ///
    /// Call it once, right after creating the client. `flags` then gives these flags' values for the present attributes
    /// and user at once, also while the device is offline. The rules are kept on the device, and refreshed together
    /// with the other flags.
    ///
    /// All other flags, and those with a rule that this version does not know, have the server's value.
    public func evaluateFlagsLocally() {
        flags.evaluate(with: LocalFlags(parts, in: flags.folder))
    }
}

/// The flags that this device evaluates, and their rules on disk.
final class LocalFlags: FlagEvaluator {
    private struct State {
        var answer: JSON
        var flags: [String: LocalFlag]
        var entityTag: String?
        /// The number of the last request, and of the request that the rules belong to.
        var asked = 0
        var answered = 0
    }

    private static let file = "rules.json"
    private static let maximumSizeInBytes = 4 << 20

    private let documents: DocumentEvents
    private let deviceID: String
    private let folder: LocalFolder
    private let state: Locked<State>

    init(_ parts: Parts, in folder: LocalFolder) {
        documents = parts.documents
        deviceID = parts.identity.id
        self.folder = folder
        let kept = folder.readJSON(Self.file)
        let answer = kept?["answer"] ?? .null
        state = Locked(
            State(answer: answer, flags: LocalFlag.all(in: answer), entityTag: kept?["etag"]?.stringValue))
    }

    func evaluate(_ name: String, for context: JSON, userID: String?) -> EvaluatedFlag? {
        guard let flag = state.withLock({ $0.flags[name] }) else { return nil }
        // What the server adds to the context and takes from it.
        var attributes = context
        attributes["id"] = attributes["id"] ?? attributes["targetingKey"]
        attributes["deviceId"] = .string(deviceID)
        attributes["user"] = userID.map { JSON.object(["id": .string($0)]) }
        attributes["userId"] = userID.map { JSON.string($0) }
        return flag.evaluate(for: FlagValue(attributes))
    }

    func refresh() async throws -> Bool {
        let (number, entityTag) = state.withLock { state in
            state.asked += 1
            return (state.asked, state.entityTag)
        }
        var request = APIRequest("GET", "flags/rules")
        request.headers["if-none-match"] = entityTag
        request.maximumAnswerSize = Self.maximumSizeInBytes
        let response: HTTPResponse
        do {
            response = try await documents.send(request)
        } catch let error as MartletError where error.status == 404 {
            // The server is older than this route and evaluates all flags.
            return use(.null, nil, number)
        }
        guard response.status != 304 else {
            state.withLock { $0.answered = max($0.answered, number) }
            return false
        }
        return use(try JSON(parsing: response.body), response.headers["etag"], number)
    }

    /// Keeps an answer unless a later request has been answered. Returns whether flags have changed.
    private func use(_ answer: JSON, _ entityTag: String?, _ number: Int) -> Bool {
        let flags = LocalFlag.all(in: answer)
        let kept: JSON = ["answer": answer, "etag": entityTag.map { JSON.string($0) } ?? .null]
        return state.withLock { state in
            guard state.answered < number else { return false }
            state.answered = number
            try? folder.write(kept.data, to: Self.file)
            let hasChanged = state.answer["flags"] != answer["flags"]
            (state.answer, state.flags, state.entityTag) = (answer, flags, entityTag)
            return hasChanged
        }
    }
}
