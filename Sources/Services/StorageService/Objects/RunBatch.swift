import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore

/// Without `transaction`, the body of a failed request's answer is its problem.
struct RunBatch: Endpoint {
    static let route = Route(
        .post, "/storage/batch", "runBatch",
        "Runs up to 100 writes in one request, either independently or as a transaction.",
        callers: .clientOrStaff([.create, .update, .delete], .storage),
        parameters: [.idempotencyKey],
        details: """
            In a transaction, nothing is written if a request fails, and the answer is the first failure; its \
            `field` begins with `requests.<number>`. Otherwise each request has its own status. An \
            `Idempotency-Key` requires `transaction`.
            """,
        body: .json(
            .object(
                [
                    "transaction": .boolean.defaulting(to: false),
                    "requests": .array(
                        of: .object(
                            [
                                "method": .values("POST", "PUT", "PATCH", "DELETE"),
                                "path": .string.examples("storage/Note", "storage/Note/a"),
                                "body": .object,
                                "ifMatch": .string,
                            ], required: ["method", "path"])
                    ).maxItems(100),
                ], required: ["requests"])),
        answers: [
            .answer(
                200, "The answers to the requests, in the order of the requests.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(
                                of: .object(
                                    [
                                        "status": .integer,
                                        "body": .object,
                                    ], required: ["status"])),
                        ], required: ["count", "data"])))
        ])

    let batch: Batch
    let idempotency: Idempotency
    let rights: RightsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.space
        let body = try await request.wholeBody(upTo: Document.maximumBatchSizeInBytes)
        let (items, isTransaction) = try Self.items(Array(body.readableBytesView))
        let principal = try context.principal
        let needs = items.reduce(into: [CollectionName: Set<Access.Operation>]()) { needs, item in
            needs[item.collection, default: []].insert(item.operation)
        }
        @Sendable func currentRights() async throws -> Rights {
            try await self.rights.rights(of: principal, in: space, for: needs)
        }
        let rights = try await currentRights()
        guard isTransaction else {
            guard request.headers[Idempotency.header] == nil else {
                throw ServiceError(
                    .invalidParameter, "A batch with an Idempotency-Key must be a transaction.",
                    field: "Idempotency-Key")
            }
            return Self.response(
                try await batch.run(
                    items, in: space, with: rights, requestID: context.requestID, currentRights: currentRights))
        }
        guard let first = items.first else { return Self.response([]) }
        let scope = QueryScope(space: space, collection: first.collection, rights: rights)
        let hasHook = try await batch.hasHook(for: items, in: space, with: rights)
        if hasHook, let earlier = try await idempotency.earlier(request, body, in: scope) { return earlier }
        let writes = hasHook ? try await batch.callHooks(for: items, in: space, with: rights) : items
        return try await idempotency.perform(request, body, in: scope) { objects in
            // Rights may have changed during the calls of hooks.
            let latest = self.rights.isCurrent(rights) ? rights : try await currentRights()
            return Self.response(
                try await batch.runAll(writes, in: space, with: latest, objects, currentRights: currentRights))
        }
    }

    /// Works on ranges of the text, because the parsed values of a batch would take many times its size.
    private static func items(_ bytes: [UInt8]) throws -> (items: [Batch.Item], isTransaction: Bool) {
        let members = try JSONText.members(of: bytes[...])
        try JSONText.refuseUnknown(members, known: ["requests", "transaction"])
        guard let requests = members.first(where: { $0.name == "requests" })?.value,
            bytes[requests].first == UInt8(ascii: "[")
        else { throw ServiceError(.invalidBody, "Expected an array \"requests\" and optionally \"transaction\".") }
        let isTransaction: Bool
        switch try members.first(where: { $0.name == "transaction" }).map({ try JSONText.value(of: bytes[$0.value]) }) {
        case nil: isTransaction = false
        case .bool(let flag): isTransaction = flag
        case let value?:
            throw ServiceError(
                .invalidBody, "Expected true or false, found \(value.phrase).", field: "transaction")
        }
        let items = try values(bytes[requests]).enumerated().map { number, request in
            do {
                return try Batch.Item(bytes[request])
            } catch let problem as ServiceError {
                throw problem.within("requests.\(number)")
            }
        }
        return (items, isTransaction)
    }

    private static func values(_ requests: ArraySlice<UInt8>) throws -> [Range<Int>] {
        do {
            return try requests.withUnsafeBufferPointer { bytes throws(JSONError) in
                try JSONText.values(of: bytes, maximum: Batch.maximumRequests)
            }.map { $0.lowerBound + requests.startIndex..<$0.upperBound + requests.startIndex }
        } catch {
            // The text has been parsed before, so only the number of requests can be wrong.
            throw ServiceError(
                .limitExceeded, "A batch may have at most \(Batch.maximumRequests) requests.", field: "requests")
        }
    }

    private static func response(_ outcomes: [Batch.Outcome]) -> Response {
        var body = ByteBuffer()
        body.writeString("{\"count\":\(outcomes.count),\"data\":[")
        for (number, outcome) in outcomes.enumerated() {
            body.writeString("\(number > 0 ? "," : ""){\"status\":\(outcome.status)")
            if var object = outcome.body {
                body.writeString(",\"body\":")
                body.writeBuffer(&object)
            }
            body.writeString("}")
        }
        body.writeString("]}")
        return .json(body)
    }
}
