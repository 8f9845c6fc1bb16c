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
    private var last: Publication?

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
                var parser = EventParser()
                let stream = try await api.stream(APIRequest("GET", "config/events"), idleTimeout: 90)
                for try await piece in stream.body {
                    for event in parser.append(piece) {
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
    init?(_ event: EventParser.Event) {
        guard event.name == "open" || event.name == "changed", let json = try? JSON(parsing: Data(event.data.utf8)),
            let generation = json["generation"]?.intValue
        else { return nil }
        let documents = (json["documents"]?.arrayValue ?? []).compactMap { document -> String? in
            guard let kind = document["kind"]?.stringValue, let name = document["name"]?.stringValue else { return nil }
            return kind + "/" + name
        }
        self.init(generation: generation, isComplete: event.name == "open", documents: Set(documents))
    }
}

/// Server-sent events (WHATWG HTML, 9.2.6) from pieces of a body.
struct EventParser {
    struct Event: Hashable {
        var name = ""
        var data = ""
    }

    /// An event with all documents of a space is far smaller.
    static let maximumSize = 4 << 20

    private var line: [UInt8] = []
    private var event = Event()
    private var size = 0

    /// The events that end in this piece. An event beyond the limit is left out.
    mutating func append(_ piece: Data) -> [Event] {
        var complete: [Event] = []
        for byte in piece {
            guard byte == UInt8(ascii: "\n") else {
                if size < Self.maximumSize, byte != UInt8(ascii: "\r") { line.append(byte) }
                size += 1
                continue
            }
            if line.isEmpty {
                if size < Self.maximumSize, !event.data.isEmpty { complete.append(event) }
                (event, size) = (Event(), 0)
            } else {
                take(String(decoding: line, as: UTF8.self))
            }
            line = []
        }
        return complete
    }

    private mutating func take(_ line: String) {
        guard let colon = line.firstIndex(of: ":") else { return }
        var value = line[line.index(after: colon)...]
        if value.hasPrefix(" ") { value.removeFirst() }
        switch line[..<colon] {
        case "event": event.name = String(value)
        case "data": event.data += (event.data.isEmpty ? "" : "\n") + value
        default: break
        }
    }
}
