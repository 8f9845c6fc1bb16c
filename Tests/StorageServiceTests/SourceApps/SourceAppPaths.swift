import MartletCore
import MartletTesting

@testable import StorageService

/// The ways in which a caller can learn of an object, or of the value of one of its fields.
enum ReadPath: CaseIterable, Sendable {
    case get, list, page, query, count, distinct, aggregate, group, include, otherFilter, select, feed

    func answer(_ collection: String, _ id: String, _ field: String, _ value: String, by client: ServiceClient)
        async throws -> Answer
    {
        let query = { (path: String, body: String) in try await client.post("/storage/\(path)", body) }
        let filter = #"{"_id":"\#(id)","\#(field)":\#(value)}"#
        switch self {
        case .get: return try await client.get("/storage/\(collection)/\(id)")
        case .list: return try await client.get("/storage/\(collection)")
        case .page: return try await client.get("/storage/\(collection)?cursor=&order=-created&limit=10")
        case .query: return try await query("query/\(collection)", filter)
        case .count: return try await query("query/\(collection)?count=true&limit=0", filter)
        case .distinct:
            return try await query("distinct/\(collection)", #"{"field":"\#(field)","where":{"_id":"\#(id)"}}"#)
        case .aggregate:
            return try await query(
                "aggregate/\(collection)", #"{"where":{"_id":"\#(id)"},"values":{"v":{"$max":"\#(field)"}}}"#)
        case .group:
            return try await query(
                "aggregate/\(collection)", #"{"where":{"_id":"\#(id)"},"group":["\#(field)"],"limit":1}"#)
        case .include: return try await client.get("/storage/Links/\(collection)?include=to")
        case .otherFilter:
            return try await query(
                "query/Links", #"{"to":{"$inQuery":{"className":"\#(collection)","where":\#(filter)}}}"#)
        case .select:
            return try await query(
                "query/\(collection)",
                #"""
                {"_id":"\#(id)","\#(field)":{"$select":{"query":{"className":"\#(collection)","where":\#(filter)},
                "key":"\#(field)"}}}
                """#)
        case .feed: return try await client.get("/changes/\(collection)")
        }
    }

    /// Whether the answer gives away the object or the value.
    func shows(_ answer: Answer, _ id: String, _ value: String) -> Bool {
        guard answer.status == 200 else { return false }
        switch self {
        case .count: return answer["count"] != "0"
        case .otherFilter: return !answer.ids.isEmpty
        case .query, .select: return answer.ids.contains(id)
        case .get, .list, .page, .distinct, .aggregate, .group, .include, .feed: return answer.text.contains(value)
        }
    }
}

/// The ways in which a caller can write an object.
enum WritePath: CaseIterable, Sendable {
    case direct, batch, transaction, bulk
    /// `POST` with an id for a replacement, otherwise `PATCH` that may create.
    case upsert
    /// Removes an object, which can still be read with `deleted=true`.
    case remove

    var mayCreate: Bool { self == .bulk || self == .upsert }

    /// The status of the answer; nil if the path cannot do this.
    func status(
        of action: SourceAppTests.Action, on collection: String, by client: ServiceClient
    ) async throws -> Int? {
        guard let (method, path, body) = request(of: action, on: collection) else { return nil }
        switch (self, method) {
        case (.batch, _), (.transaction, _):
            let member = body.map { #","body":\#($0)"# } ?? ""
            let request = #"{"method":"\#(method)","path":"\#(path)"\#(member)}"#
            let answer = try await client.post(
                "/storage/batch", #"{"requests":[\#(request)],"transaction":\#(self == .transaction)}"#)
            guard answer.status == 200 else { return answer.status }
            return answer["data.0.status"].flatMap { Int($0) } ?? 0
        case (_, "POST"): return try await client.post("/\(path)", body ?? "").status
        case (_, "PATCH"): return try await client.patch("/\(path)", body ?? "").status
        case (_, "PUT"): return try await client.put("/\(path)", body ?? "").status
        default: return try await client.delete("/\(path)").status
        }
    }

    private func request(
        of action: SourceAppTests.Action, on collection: String
    ) -> (method: String, path: String, body: String?)? {
        let all = "storage/\(collection)"
        func named(_ id: String, _ body: String) -> String { #"{"_id":"\#(id)","# + body.dropFirst() }
        return switch (self, action) {
        case (_, .read): nil
        case (.bulk, .create(let body)): ("POST", "storage/all/\(collection)", "[\(body)]")
        case (.bulk, .put(let id, let body)): ("POST", "storage/all/\(collection)", "[\(named(id, body))]")
        case (.upsert, .create(let body)): ("PATCH", "\(all)/new?upsert=true", body)
        case (.upsert, .patch(let id, let body)): ("PATCH", "\(all)/\(id)?upsert=true", body)
        case (.upsert, .put(let id, let body)): ("POST", all, named(id, body))
        case (.remove, .delete(let id)): ("POST", "storage/remove/\(collection)/\(id)", nil)
        case (.bulk, _), (.upsert, _), (.remove, _): nil
        case (_, .create(let body)): ("POST", all, body)
        case (_, .patch(let id, let body)): ("PATCH", "\(all)/\(id)", body)
        case (_, .put(let id, let body)): ("PUT", "\(all)/\(id)", body)
        case (_, .delete(let id)): ("DELETE", "\(all)/\(id)", nil)
        }
    }
}
