import Foundation

/// Sends batches one after the other.
struct EventSender: Sendable {
    private let api: APIClient
    private let deviceID: String
    private let sending = SharedRun()

    init(_ api: APIClient, deviceID: String) {
        self.api = api
        self.deviceID = deviceID
    }

    /// - Parameters:
    ///   - next: The oldest batch.
    ///   - done: Called with the batch's name once the server has confirmed or permanently refused it.
    func send(
        next: @escaping @Sendable () -> (name: String, events: [JSON])?, done: @escaping @Sendable (String) -> Void
    ) async throws {
        try await sending.run { [self] in
            while let batch = next() {
                if !batch.events.isEmpty { try await send(batch.events) }
                done(batch.name)
            }
        }
    }

    private func send(_ events: [JSON]) async throws {
        let body: JSON = [
            "batch": .array(events), "sentAt": .string(RFC3339.text(api.configuration.clock.now())),
        ]
        var request = APIRequest("POST", "events", json: body, repetition: .idempotent)
        request.headers[MartletHeader.deviceID] = deviceID
        // Events name their user themselves, because they may be older than the session.
        request.caller = .app
        do {
            let answer = try await api.json(request)
            let rejected = answer["rejected"]?.arrayValue ?? []
            if let first = rejected.first {
                api.configuration.log(
                    .warning, "The server refused events", ["events": "\(rejected.count)", "first": first.text])
            }
        } catch let error as MartletError where [400, 413, 422].contains(error.status) {
            // The server would refuse it every time, and nothing after it would be sent.
            api.configuration.log(.warning, "The server refused a batch of events; dropped it", ["error": "\(error)"])
        }
    }
}
