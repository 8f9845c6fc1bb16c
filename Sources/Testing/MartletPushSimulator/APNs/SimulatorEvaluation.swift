import Foundation
import MartletCore

/// An answer of the simulator.
struct SimulatorAnswer {
    var status: Int
    var reason: String?
    var timestamp: Date?
    var retryAfter: String?

    static let accepted = SimulatorAnswer(status: 200)

    static func refused(_ status: Int, _ reason: String) -> SimulatorAnswer {
        SimulatorAnswer(status: status, reason: reason)
    }

    var body: String? {
        guard let reason else { return nil }
        let time = timestamp.map { #","timestamp":\#(Int($0.timeIntervalSince1970 * 1_000))"# } ?? ""
        return "{\"reason\":\(JSONValue.quote(reason))\(time)}"
    }
}

/// Decides the simulator's answer to a request. Its checks are in the same order as those of APNs.
struct SimulatorEvaluation {
    private static let pushTypes: Set<String> = [
        "alert", "background", "complication", "controls", "fileprovider", "liveactivity", "location", "mdm",
        "pushtotalk", "voip", "widgets",
    ]

    let request: SimulatedRequest
    let method: String
    let path: String
    let now: Date

    /// - Returns: Nil if the simulator does not answer.
    func answer(_ state: inout APNsSimulator.State) -> SimulatorAnswer? {
        guard method == "POST" else { return .refused(405, "MethodNotAllowed") }
        guard path.hasPrefix("/3/device/") else { return .refused(404, "BadPath") }
        let (key, reason) = state.tokens.key(request.headers["authorization"], at: now)
        guard let key else { return .refused(reason == "TooManyProviderTokenUpdates" ? 429 : 403, reason) }
        if let refusal = refusal(key) { return refusal }
        return answer(for: request.device, &state)
    }

    private func refusal(_ key: SimulatedKey) -> SimulatorAnswer? {
        let headers = request.headers
        if request.device.isEmpty { return .refused(400, "MissingDeviceToken") }
        if !request.device.utf8.allSatisfy({ "0123456789abcdef".utf8.contains($0) }) {
            return .refused(400, "BadDeviceToken")
        }
        guard let topic = headers["apns-topic"], !topic.isEmpty else { return .refused(400, "MissingTopic") }
        if !key.topics.isEmpty, !key.topics.contains(where: { topic == $0 || topic.hasPrefix($0 + ".") }) {
            return .refused(400, "TopicDisallowed")
        }
        let type = headers["apns-push-type"] ?? ""
        if !Self.pushTypes.contains(type) { return .refused(400, "InvalidPushType") }
        let priority = headers["apns-priority"] ?? "10"
        if !["1", "5", "10"].contains(priority) || (type == "background" && priority != "5") {
            return .refused(400, "BadPriority")
        }
        if Int64(headers["apns-expiration"] ?? "0") == nil { return .refused(400, "BadExpirationDate") }
        if let id = headers["apns-id"], UUID(uuidString: id) == nil || id != id.lowercased() {
            return .refused(400, "BadMessageId")
        }
        if (headers["apns-collapse-id"]?.utf8.count ?? 0) > 64 { return .refused(400, "BadCollapseId") }
        if request.payload.isEmpty { return .refused(400, "PayloadEmpty") }
        return request.payload.count > (type == "voip" ? 5_120 : 4_096) ? .refused(413, "PayloadTooLarge") : nil
    }

    private func answer(for device: String, _ state: inout APNsSimulator.State) -> SimulatorAnswer? {
        switch state.devices[device] ?? .registered {
        case .registered: return .accepted
        case .unregistered(let since): return SimulatorAnswer(status: 410, reason: "Unregistered", timestamp: since)
        case .expired(let since): return SimulatorAnswer(status: 410, reason: "ExpiredToken", timestamp: since)
        case .answers(let status, let reason, let retryAfter):
            return SimulatorAnswer(status: status, reason: reason, retryAfter: retryAfter)
        case .answersOnce(let status, let reason, let retryAfter):
            state.devices[device] = .registered
            return SimulatorAnswer(status: status, reason: reason, retryAfter: retryAfter)
        case .silent: return nil
        }
    }
}
