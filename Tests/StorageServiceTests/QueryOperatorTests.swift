import MartletAPI
import MartletCore
import MartletTesting
import Testing

@testable import StorageService

@Suite struct QueryOperatorTests {
    private static let documents = [
        #"{"_id":"n1","name":"Tim Tom","tags":["a","b"],"at":{"__type":"Date","iso":"2026-01-01T00:00:00Z"},"by":{"__type":"Pointer","className":"User","objectId":"u1"}}"#,
        #"{"_id":"n2","name":"tim (x)","tags":["b"],"at":{"__type":"Date","iso":"2026-01-01T01:00:00.5+00:00"},"by":{"__type":"Pointer","className":"User","objectId":"u2"}}"#,
        #"{"_id":"n3","name":"a\nTim","tags":[],"at":"2026-01-01T00:00:00Z","by":[{"__type":"Pointer","className":"User","objectId":"u1"}]}"#,
        #"{"_id":"n4","name":7,"tags":"a","list":[{"x":1,"y":2},[1],3],"at":{"__type":"Date","iso":"2027-01-01T00:00:00Z"}}"#,
        #"{"_id":"n5"}"#,
    ]

    @Test(arguments: [
        (#"{"name":{"$regex":"^Tim"}}"#, "1"), (#"{"name":{"$regex":"^tim","$options":"i"}}"#, "12"), (#"{"name":{"$regex":"^tim","$options":"im"}}"#, "123"),
        (#"{"name":{"$regex":"\\Q(x)\\E$"}}"#, "2"), (#"{"name":{"$regex":"t i m","$options":"xi"}}"#, "123"), (#"{"name":{"$regex":"a.T"}}"#, "3"),
        (#"{"name":{"$regex":"."}}"#, "123"), (#"{"_id":{"$regex":"[12]$"}}"#, "12"), (#"{"none":{"$regex":""}}"#, ""),
        (#"{"name":{"$regex":"'; DROP TABLE x; --"}}"#, ""), (#"{"name":{"$regex":"\\Qa.b"}}"#, ""),
        (#"{"tags":{"$all":["a"]}}"#, "1"), (#"{"tags":{"$all":["b","a"]}}"#, "1"), (#"{"list":{"$all":[3,[1]]}}"#, "4"), (#"{"list":{"$all":[{"x":1}]}}"#, ""),
        (#"{"list":{"$all":[{"y":2,"x":1}]}}"#, "4"), (#"{"list":{"$all":[1]}}"#, ""),
        (#"{"tags":{"$containedBy":["a","b","c"]}}"#, "123"), (#"{"tags":{"$containedBy":["b"]}}"#, "23"), (#"{"tags":{"$containedBy":[]}}"#, "3"),
        (#"{"at":{"__type":"Date","iso":"2026-01-01T00:00:00Z"}}"#, "1"), (#"{"at":{"$gt":{"__type":"Date","iso":"2026-01-01T00:30:00Z"}}}"#, "24"),
        (#"{"at":{"$lte":{"__type":"Date","iso":"2026-01-01T02:00:00.5+01:00"}}}"#, "12"), (#"{"at":{"$ne":{"__type":"Date","iso":"2026-01-01T00:00:00Z"}}}"#, "2345"),
        (#"{"by":{"__type":"Pointer","className":"User","objectId":"u1"}}"#, "13"),
        (#"{"by":{"$in":[{"__type":"Pointer","className":"User","objectId":"u2"}]}}"#, "2"),
        (#"{"by":{"$inQuery":{"className":"User","where":{"age":{"$gt":20}}}}}"#, "13"), (#"{"by":{"$notInQuery":{"className":"User","where":{"age":{"$gt":20}}}}}"#, "245"),
        (#"{"by":{"$inQuery":{"className":"User","where":{"friend":{"$inQuery":{"className":"User","where":{"age":30}}}}}}}"#, "2"),
        (#"{"$relatedTo":{"object":{"__type":"Pointer","className":"User","objectId":"u1"},"key":"likes"}}"#, "24"),
        (#"{"$relatedTo":{"object":{"__type":"Pointer","className":"User","objectId":"u2"},"key":"likes"}}"#, ""),
    ] as [(String, String)]) func `an operator finds what it says`(_ filter: String, _ digits: String) async throws {
        let app = try await Self.filled.value
        let answer = try await app.client.post("/storage/query/Note?order=_id", filter)
        #expect(answer.status == 200, "\(answer)")
        #expect(answer.ids.map { $0.dropFirst() }.joined() == digits, "\(filter)")
    }

    @Test func `subqueries and relations keep to the rights of the other collection`() async throws {
        let app = try await StorageApp()
        _ = try await app.master.post("/storage/Note", #"{"_id":"n","by":{"__type":"Pointer","className":"User","objectId":"u"}}"#)
        _ = try await app.master.post("/storage/User", #"{"_id":"u","pin":1,"_readers":["eve"],"likes":{"__op":"AddRelation","objects":[{"__type":"Pointer","className":"Note","objectId":"n"}]}}"#)
        let sub = #"{"by":{"$inQuery":{"className":"User","where":{"pin":1}}}}"#
        let related = #"{"$relatedTo":{"object":{"__type":"Pointer","className":"User","objectId":"u"},"key":"likes"}}"#
        for filter in [sub, related] {
            #expect(try await app.master.post("/storage/query/Note", filter).ids == ["n"])
            #expect(try await app.client.post("/storage/query/Note", filter).ids == [])
        }
        _ = try await app.master.put("/collections/User/rules", #"{"hidden":{"pin":[],"likes":[]}}"#)
        for filter in [sub, related] { try await app.expectRefusal(.forbidden) { try await app.client.post("/storage/query/Note", filter) } }
        _ = try await app.master.put("/collections/User/rules", #"{"rules":{"find":[],"get":[]}}"#)
        for filter in [sub, related] { try await app.expectRefusal(.forbidden) { try await app.client.post("/storage/query/Note", filter) } }
    }

    @Test func `a pattern that is none is refused`() async throws {
        let app = try await Self.filled.value
        try await app.expectRefusal(.invalidFilter) { try await app.client.post("/storage/query/Note", #"{"name":{"$regex":"("}}"#) }
    }

    private static let filled = Task {
        let app = try await StorageApp()
        #expect(try await app.client.post("/storage/all/Note", "[" + documents.joined(separator: ",") + "]").status == 201)
        let friend = #"{"__type":"Pointer","className":"User","objectId":"u1"}"#
        let likes = ["n2", "n4"].map { #"{"__type":"Pointer","className":"Note","objectId":"\#($0)"}"# }.joined(separator: ",")
        _ = try await app.client.post("/storage/User", #"{"_id":"u1","age":30,"likes":{"__op":"AddRelation","objects":[\#(likes)]}}"#)
        _ = try await app.client.post("/storage/User", #"{"_id":"u2","age":10,"friend":\#(friend)}"#)
        return app
    }
}
