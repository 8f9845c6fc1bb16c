import Foundation

/// A publication of documents, as announced by the server.
package struct Publication: Sendable {
    /// Increases with each publication.
    let generation: Int
    /// True for the first event of a connection, which lists everything that is live.
    package let isComplete: Bool
    /// The documents, as `kind/name`.
    package let documents: Set<String>

    func concerns(_ kinds: String...) -> Bool {
        isComplete || documents.contains { name in kinds.contains { name.hasPrefix($0 + "/") } }
    }
}

/// The server's announcements of new documents, over one connection that all listeners share. It is open while there is
/// a listener.
package actor DocumentEvents {
    private let api: APIClient
    private var listeners: [UUID: Listener] = [:]
    private var connection: Task<Void, Never>?
    /// The generation of the last event.
    private var generation: Int?
    /// Whether the server is older than MartletKit and refuses the parameter.
    private var isGenerationRefused = false

    private struct Listener {
        let isConcerned: @Sendable (Publication) -> Bool
        let continuation: AsyncStream<Publication>.Continuation
    }

    init(_ api: APIClient) { self.api = api }

    /// The publications that concern the caller, until the iteration ends. A slow listener gets only the latest one.
    package func publications(
        where isConcerned: @escaping @Sendable (Publication) -> Bool
    ) -> AsyncStream<Publication> {
        let (stream, continuation) = AsyncStream<Publication>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let id = UUID()
        listeners[id] = Listener(isConcerned: isConcerned, continuation: continuation)
        continuation.onTermination = { [weak self] _ in Task { await self?.remove(id) } }
        if connection == nil {
            connection = Task { [weak self] in
                guard let self else { return }
                await follow()
            }
        }
        return stream
    }

    /// Sends a request that reads published documents. No copy of the server answers with an older state than the last
    /// event.
    package func send(_ request: APIRequest) async throws -> HTTPResponse {
        guard let generation, !isGenerationRefused else { return try await api.send(request) }
        var dated = request
        dated.query.append(("generation", "\(generation)"))
        do {
            return try await api.send(dated)
        } catch let error as MartletError where error.status == 400 && error.field == "generation" {
            isGenerationRefused = true
            return try await api.send(request)
        }
    }

    private func remove(_ id: UUID) {
        listeners[id] = nil
        guard listeners.isEmpty else { return }
        connection?.cancel()
        connection = nil
    }

    private func follow() async {
        var request = APIRequest("GET", "config/events")
        request.headers["accept"] = "text/event-stream"
        // Only one attempt, because this loop has its own, longer delays.
        request.maximumAttempts = 1
        var backoff = Backoff(clock: api.configuration.clock)
        backoff.shortest = 2
        while !Task.isCancelled {
            do {
                var parser = ServerSentEvents()
                let stream = try await api.stream(request, idleTimeout: 90)
                for try await piece in stream.body {
                    for event in try parser.parse(piece) {
                        guard let publication = Publication(event) else { continue }
                        backoff.reset()
                        notify(publication)
                    }
                }
            } catch {
                api.configuration.log(
                    .debug, "The connection for published documents ended; connecting again", ["error": "\(error)"])
            }
            try? await backoff.wait()
        }
    }

    private func notify(_ publication: Publication) {
        generation = publication.generation
        for listener in listeners.values where listener.isConcerned(publication) {
            listener.continuation.yield(publication)
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
