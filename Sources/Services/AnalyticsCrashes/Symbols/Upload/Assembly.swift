import HTTPTypes
import MartletAPI
import MartletCore
import MartletHTTP
import MartletJobs

/// Reports the state of files, and starts assembling those whose chunks are complete.
struct Assembly: Sendable {
    /// The gateway's limit, in `gateway/routes.json`.
    static let maximumRequestSizeInBytes = 4 << 20
    private static let maximumFiles = 500
    private static let maximumNameLength = 256
    /// Maximum number of an app's files that wait or are being assembled.
    private static let maximumUnfinished = 1_000

    let chunks: SymbolChunkStore
    let files: SymbolFileStore
    let settings: SymbolSettings

    struct Request: Sendable {
        var sha1: String
        var name: String
        var expected: DebugID?
        var chunks: [String]

        /// Why the file is refused; nil if it is not. Reported at once, because a client that does not wait for the
        /// assembly would consider the upload successful.
        var refusalReason: String? {
            name.hasPrefix("/proguard/") ? "Martlet does not support ProGuard mappings." : nil
        }
    }

    struct Answer: Sendable {
        var sha1: String
        var json: String
    }

    /// - Throws: `invalid-body` naming the member; `limit-exceeded`.
    static func requests(in value: JSONValue) throws -> [Request] {
        guard case .object(let members) = value else {
            throw ServiceError(.invalidBody, "Expected a JSON object, found \(value.kind.phrase).")
        }
        guard members.count <= maximumFiles else {
            throw ServiceError(.limitExceeded, "At most \(maximumFiles) files can be assembled in one call.")
        }
        return try members.map { member in
            guard ChunkUpload.isSHA1(member.name), case .object = member.value else {
                throw ServiceError(
                    .invalidBody, "Expected members that are objects, each named by a file's SHA-1.", field: member.name
                )
            }
            guard let name = member.value["name"]?.plainText, !name.isEmpty, !name.utf8.contains(0) else {
                throw ServiceError(.invalidBody, "Expected a non-empty name.", field: "\(member.name).name")
            }
            guard case .array(let chunks) = member.value["chunks"], case let sha1s = chunks.compactMap(\.plainText),
                sha1s.count == chunks.count,
                sha1s.allSatisfy(ChunkUpload.isSHA1)
            else { throw ServiceError(.invalidBody, "Expected an array of SHA-1s.", field: "\(member.name).chunks") }
            var expected: DebugID?
            if let text = member.value["debug_id"]?.plainText {
                expected = DebugID(text)
                guard expected != nil else {
                    throw ServiceError.unexpectedMember(
                        "\(member.name).debug_id", expected: "a debug id", found: text)
                }
            }
            return Request(
                sha1: member.name, name: String(name.prefix(maximumNameLength)), expected: expected, chunks: sha1s)
        }
    }

    func advance(_ requests: [Request], of appID: String, by author: String) async throws -> [Answer] {
        let known = try await files.status(requests.map(\.sha1), of: appID)
        let new = requests.filter { known[$0.sha1] == nil }
        let pieces = try await chunks.touch(Array(Set(new.flatMap(\.chunks))), of: appID)
        var room = Self.maximumUnfinished
        if !new.isEmpty { room -= try await files.queue.unfinished(scope: appID, kinds: [AssembleSymbolFile.kind]) }
        var answers: [Answer] = []
        for request in requests {
            if let status = known[request.sha1] {
                answers.append(Answer(sha1: request.sha1, json: Self.json(status)))
                continue
            }
            if let reason = request.refusalReason {
                answers.append(Answer(sha1: request.sha1, json: Self.json("error", detail: reason)))
                continue
            }
            let found = request.chunks.compactMap { pieces[$0] }
            guard found.count == request.chunks.count, !found.isEmpty else {
                let missing = Set(request.chunks).filter { pieces[$0] == nil }.sorted()
                answers.append(Answer(sha1: request.sha1, json: Self.json("not_found", missing: missing)))
                continue
            }
            guard room > 0 else {
                throw ServiceError(
                    .tooManyRequests, "Too many files are being assembled. Try again later.",
                    retryAfter: 10)
            }
            room -= 1
            let json = try await begin(
                request, sizeInBytes: found.reduce(0) { $0 + $1.sizeInBytes }, of: appID, by: author)
            answers.append(Answer(sha1: request.sha1, json: json))
        }
        return answers
    }

    /// The answers as an object, by SHA-1.
    static func json(_ answers: [Answer]) -> String {
        "{" + answers.map { JSONValue.quote($0.sha1) + ":" + $0.json }.joined(separator: ",") + "}"
    }

    private func begin(_ request: Request, sizeInBytes: Int, of appID: String, by author: String) async throws -> String
    {
        guard sizeInBytes <= settings.maximumFileSizeInBytes else {
            return Self.json("error", detail: "A file may have at most \(settings.maximumFileSizeInBytes) bytes.")
        }
        let file = SymbolFileStore.Declaration(
            sha1: request.sha1, name: request.name, expected: request.expected, chunks: request.chunks,
            sizeInBytes: sizeInBytes)
        if try await files.begin(file, of: appID, by: author, maximumAppSizeInBytes: settings.maximumAppSizeInBytes) {
            return Self.json("created")
        }
        if let status = try await files.status([request.sha1], of: appID)[request.sha1] { return Self.json(status) }
        return Self.json(
            "error",
            detail: "The app's debug files may have at most \(settings.maximumAppSizeInBytes) bytes. Delete some.")
    }

    private static func json(_ status: SymbolFileStore.Status) -> String {
        json(status.state.rawValue, detail: status.detail, dif: status.json)
    }

    private static func json(_ state: String, missing: [String] = [], detail: String? = nil, dif: String? = nil)
        -> String
    {
        let missing = missing.map(JSONValue.quote).joined(separator: ",")
        return
            #"{"state":"\#(state)","missingChunks":[\#(missing)],"detail":\#(detail.map(JSONValue.quote) ?? "null"),"dif":\#(dif ?? "null")}"#
    }
}
