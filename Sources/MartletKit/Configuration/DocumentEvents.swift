import Foundation

/// A publication of documents, as the server announces it.
struct Publication: Sendable, Hashable {
    /// Grows with each publication.
    let generation: Int
    /// True for the first event of a connection, which lists everything that is live.
    let isComplete: Bool
    /// `kind/name` of the documents.
    let documents: Set<String>

    func concerns(_ kinds: String...) -> Bool {
        isComplete || documents.contains { name in kinds.contains { name.hasPrefix($0 + "/") } }
    }
}

/// The server's announcements of new documents: one connection for all who listen, as long as somebody does.
actor DocumentEvents {
    private let api: APIClient
    private var listeners: [UUID: AsyncStream<Publication>.Continuation] = [:]
    private var connection: Task<Void, Never>?

    init(_ api: APIClient) { self.api = api }

    /// Ends when the iteration does. A slow listener misses publications in between, never the last one.
    func publications() -> AsyncStream<Publication> {
        let (stream, continuation) = AsyncStream<Publication>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let id = UUID()
        listeners[id] = continuation
        continuation.onTermination = { [weak self] _ in Task { await self?.remove(id) } }
        if connection == nil {
            connection = Task { [weak self] in
                guard let self else { return }
                await follow()
            }
        }
        return stream
    }

    private func remove(_ id: UUID) {
        listeners[id] = nil
        guard listeners.isEmpty else { return }
        connection?.cancel()
        connection = nil
    }

    private func follow() async {
        var failures = 0
        while !Task.isCancelled {
            do {
                var parser = ServerSentEvents()
                let stream = try await api.stream(APIRequest("GET", "config/events"), idleTimeout: 90)
                for try await piece in stream.body {
                    for event in try parser.parse(piece) {
                        guard let publication = Publication(event) else { continue }
                        failures = 0
                        for listener in listeners.values { listener.yield(publication) }
                    }
                }
            } catch {
                api.configuration.log(
                    .debug, "The connection for published documents ended; connecting again", ["error": "\(error)"])
            }
            failures += 1
            let longest = min(60, pow(2, Double(min(failures, 6))))
            try? await api.configuration.clock.sleep(longest * (0.5 + api.configuration.clock.random() / 2))
        }
    }
}

extension Publication {
    init?(_ event: ServerSentEvents.Event) {
        guard event.name == "open" || event.name == "changed", let data = event.data,
            let json = try? JSON(parsing: Data(data.utf8)),
            let generation = json["generation"]?.intValue
        else { return nil }
        let documents = (json["documents"]?.arrayValue ?? []).compactMap { document -> String? in
            guard let kind = document["kind"]?.stringValue, let name = document["name"]?.stringValue else { return nil }
            return kind + "/" + name
        }
        self.init(generation: generation, isComplete: event.name == "open", documents: Set(documents))
    }
}
