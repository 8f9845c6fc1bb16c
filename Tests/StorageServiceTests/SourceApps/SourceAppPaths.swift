import MartletCore
import MartletTesting

@testable import StorageService

/// The ways in which a caller can learn of an object, or of the value of one of its fields.
enum ReadPath: CaseIterable, Sendable {
    case get, list, query, count, distinct, aggregate, include, otherFilter, select, feed

    func answer(_ collection: String, _ id: String, _ field: String, _ value: String, by client: ServiceClient)
        async throws -> Answer
    {
        let query = { (path: String, body: String) in try await client.post("/storage/\(path)", body) }
        let filter = #"{"_id":"\#(id)","\#(field)":\#(value)}"#
        switch self {
        case .get: return try await client.get("/storage/\(collection)/\(id)")
        case .list: return try await client.get("/storage/\(collection)")
        case .query: return try await query("query/\(collection)", filter)
        case .count: return try await query("query/\(collection)?count=true&limit=0", filter)
        case .distinct:
            return try await query("distinct/\(collection)", #"{"field":"\#(field)","where":{"_id":"\#(id)"}}"#)
        case .aggregate:
            return try await query(
                "aggregate/\(collection)", #"{"where":{"_id":"\#(id)"},"values":{"v":{"$max":"\#(field)"}}}"#)
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
        case .get, .list, .distinct, .aggregate, .include, .feed: return answer.text.contains(value)
        }
    }
}

/// The ways in which a caller can write an object.
enum WritePath: CaseIterable, Sendable {
    case direct, batch, transaction

    func status(of action: SourceAppTests.Action, on collection: String, by client: ServiceClient) async throws -> Int {
        guard let (method, path, body) = action.request(on: collection) else { return 0 }
        switch (self, method) {
        case (.direct, "POST"): return try await client.post("/\(path)", body ?? "").status
        case (.direct, "PATCH"): return try await client.patch("/\(path)", body ?? "").status
        case (.direct, "PUT"): return try await client.put("/\(path)", body ?? "").status
        case (.direct, _): return try await client.delete("/\(path)").status
        case (.batch, _), (.transaction, _):
            let member = body.map { #","body":\#($0)"# } ?? ""
            let request = #"{"method":"\#(method)","path":"\#(path)"\#(member)}"#
            let answer = try await client.post(
                "/storage/batch", #"{"requests":[\#(request)],"transaction":\#(self == .transaction)}"#)
            guard answer.status == 200 else { return answer.status }
            return answer["data.0.status"].flatMap { Int($0) } ?? 0
        }
    }
}

extension SourceAppTests.Action {
    /// Nil for reads.
    fileprivate func request(on collection: String) -> (method: String, path: String, body: String?)? {
        switch self {
        case .read: nil
        case .create(let body): ("POST", "storage/\(collection)", body)
        case .patch(let id, let body): ("PATCH", "storage/\(collection)/\(id)", body)
        case .put(let id, let body): ("PUT", "storage/\(collection)/\(id)", body)
        case .delete(let id): ("DELETE", "storage/\(collection)/\(id)", nil)
        }
    }
}
