import Foundation
import MartletAPI
import MartletCore
import MartletTesting
import Testing

@testable import StorageService

/// Every operator beyond plain comparison, with every type of value.
@Suite struct QueryOperatorTests {
    private static let documents = [
        #"""
        {"_id":"n1","title":"Bread and butter","tags":["red","green","blue"],"when":{"__type":"Date","iso":"2026-01-01T00:00:00.000Z"},
        "place":{"__type":"GeoPoint","latitude":46.948,"longitude":7.447},"author":{"__type":"Pointer","className":"User","objectId":"u1"},
        "file":{"__type":"File","name":"a.png"},"bytes":{"__type":"Bytes","base64":"AQI="}}
        """#,
        #"""
        {"_id":"n2","title":"bread.roll (hot)","tags":["red"],"when":{"__type":"Date","iso":"2026-06-01T02:00:00+02:00"},
        "place":{"__type":"GeoPoint","latitude":47.3769,"longitude":8.5417},"author":{"__type":"Pointer","className":"User","objectId":"u2"},
        "area":{"__type":"Polygon","coordinates":[[0,0],[0,10],[5,10],[5,0]]}}
        """#,
        #"""
        {"_id":"n3","title":"Café\nau lait","tags":[],"when":"2026-01-01T00:00:00.000Z","place":{"__type":"GeoPoint","latitude":-17.5,"longitude":179.9},
        "authors":[{"__type":"Pointer","className":"User","objectId":"u1"},{"__type":"Pointer","className":"User","objectId":"u3"}],"city":"Bern"}
        """#,
        #"{"_id":"n4","title":7,"tags":"red","place":{"latitude":"x","longitude":1e-300},"area":{"coordinates":[[0,0],["x",1],[2,2]]},"city":"Ulm"}"#,
        #"{"_id":"n5","title":"Breads of running men","place":{"__type":"GeoPoint","latitude":-17.5,"longitude":-179.9},"tags":["red",{"a":1},3]}"#,
    ]
    private static let users =
        #"[{"_id":"u1","name":"tim","home":"Bern"},{"_id":"u2","name":"tom"},{"_id":"u3","name":"eve","home":"Ulm"}]"#

    private static let filled = Task {
        let app = try await StorageApp()
        #expect(
            try await app.client.post("/storage/all/Note", "[" + documents.joined(separator: ",") + "]").status == 201)
        #expect(try await app.client.post("/storage/all/User", users).status == 201)
        #expect(
            try await app.client.patch(
                "/storage/User/u1",
                #"{"likes":{"__op":"AddRelation","objects":[{"__type":"Pointer","className":"Note","objectId":"n2"},{"__type":"Pointer","className":"Note","objectId":"n4"}]}}"#
            ).status == 200)
        return app
    }

    @Test(
        arguments: [
            // Typed values are equal if their canonical forms are, also as elements of a list
            (#"{"when":{"__type":"Date","iso":"2026-01-01T01:00:00+01:00"}}"#, "1"),
            (#"{"author":{"__type":"Pointer","className":"User","objectId":"u1"}}"#, "1"),
            (#"{"authors":{"__type":"Pointer","className":"User","objectId":"u3"}}"#, "3"),
            (#"{"file":{"__type":"File","name":"a.png"}}"#, "1"),
            (#"{"bytes":{"__type":"Bytes","base64":"AQI="}}"#, "1"),
            (#"{"place":{"__type":"GeoPoint","latitude":46.9480,"longitude":7.447}}"#, "1"),
            (
                #"{"author":{"$in":[{"__type":"Pointer","className":"User","objectId":"u1"},{"__type":"Pointer","className":"User","objectId":"u2"}]}}"#,
                "12"
            ),
            (#"{"author":{"$ne":{"__type":"Pointer","className":"User","objectId":"u1"}}}"#, "2345"),
            // Dates
            (#"{"when":{"$gt":{"__type":"Date","iso":"2026-01-01T00:00:00Z"}}}"#, "2"),
            (#"{"when":{"$gte":{"__type":"Date","iso":"2026-01-01T00:00:00Z"}}}"#, "12"),
            (#"{"when":{"$lt":{"__type":"Date","iso":"2026-06-01T00:00:00.001Z"}}}"#, "12"),
            (#"{"created":{"$gt":{"__type":"Date","iso":"2020-01-01T00:00:00Z"}}}"#, "12345"),
            (#"{"when":{"$lt":{"$relativeTime":"in 90 years"}}}"#, "12"),
            (#"{"created":{"$lt":{"$relativeTime":"1 hour 5 minutes ago"}}}"#, ""),
            (#"{"created":{"$lte":{"$relativeTime":"now"}}}"#, "12345"),
            // Patterns
            (#"{"title":{"$regex":"^Bread"}}"#, "15"), (#"{"title":{"$regex":"^bread","$options":"i"}}"#, "125"),
            (#"{"title":{"$regex":"butter$"}}"#, "1"),
            (#"{"title":{"$regex":"\\Qroll (hot)\\E"}}"#, "2"), (#"{"title":{"$regex":"^\\Qbread.\\E"}}"#, "2"),
            (#"{"title":{"$regex":"^bread.r"}}"#, "2"),
            (#"{"title":{"$regex":"^au","$options":"m"}}"#, "3"), (#"{"title":{"$regex":"^au"}}"#, ""),
            (#"{"title":{"$regex":"é.au"}}"#, ""),
            (#"{"title":{"$regex":"é.au","$options":"s"}}"#, "3"),
            (#"{"title":{"$regex":"b r e a d","$options":"ix"}}"#, "125"),
            (#"{"title":{"$regex":"(?i)BREAD"}}"#, "125"),
            (#"{"title":{"$regex":"^Breads?"}}"#, "15"), (#"{"title":{"$regex":"^Breads*x|men$"}}"#, "5"),
            (#"{"title":{"$regex":"\\bau\\b"}}"#, "3"), (#"{"title":{"$regex":"^Bread$"}}"#, ""),
            (#"{"title":{"$regex":"^(Bread|bread)"}}"#, "125"), (#"{"title":{"$regex":"[]x]"}}"#, ""),
            (#"{"title":{"$regex":"^Caf\u00e9"}}"#, "3"), (#"{"_id":{"$regex":"^n[12]$"}}"#, "12"),
            (#"{"title":{"$regex":"7"}}"#, ""), (#"{"title":{"$regex":"' OR 1=1 --"}}"#, ""),
            // Lists
            (#"{"tags":{"$all":["red","blue"]}}"#, "1"), (#"{"tags":{"$all":["red"]}}"#, "125"),
            (#"{"tags":{"$all":[]}}"#, ""),
            (#"{"tags":{"$all":[{"$regex":"^gr"},{"$regex":"^b"}]}}"#, "1"),
            (#"{"authors":{"$all":[{"__type":"Pointer","className":"User","objectId":"u1"}]}}"#, "3"),
            (#"{"tags":{"$containedBy":["red","green"]}}"#, "23"),
            (#"{"tags":{"$containedBy":["red",3,{"a":1}]}}"#, "235"),
            (#"{"tags":{"$containedBy":["red",3,{"a":1,"b":2}]}}"#, "23"),
            (#"{"tags":{"$containedBy":[]}}"#, "3"),
            // `$all` with an object requires an equal element, not just one that contains it
            (#"{"tags":{"$all":[{"a":1}]}}"#, "5"), (#"{"tags":{"$all":[{}]}}"#, ""),
            (#"{"tags":{"$all":["red",{"a":1}]}}"#, "5"), (#"{"tags":{"$all":[[]]}}"#, ""),
            // Full text
            (#"{"title":{"$text":{"$search":{"$term":"bread"}}}}"#, "15"),
            (#"{"title":{"$text":{"$search":{"$term":"run"}}}}"#, "5"),
            (#"{"title":{"$text":{"$search":"butter -roll"}}}"#, "1"),
            (#"{"title":{"$text":{"$search":{"$term":"bread","$caseSensitive":true}}}}"#, ""),
            (#"{"title":{"$text":{"$search":{"$term":"Bread","$caseSensitive":true}}}}"#, "15"),
            (#"{"title":{"$text":{"$search":{"$term":"running","$language":"simple"}}}}"#, "5"),
            (#"{"title":{"$text":{"$search":{"$term":"run","$language":"none","$diacriticSensitive":true}}}}"#, ""),
            (#"{"$text":{"$search":"green"}}"#, "1"), (#"{"$text":{"$search":"'); DROP TABLE x; --"}}"#, ""),
            // Places
            (
                #"{"place":{"$nearSphere":{"__type":"GeoPoint","latitude":46.95,"longitude":7.45},"$maxDistanceInKilometers":1}}"#,
                "1"
            ),
            (
                #"{"place":{"$nearSphere":{"__type":"GeoPoint","latitude":46.95,"longitude":7.45},"$maxDistanceInKilometers":96}}"#,
                "12"
            ),
            (
                #"{"place":{"$nearSphere":{"__type":"GeoPoint","latitude":46.95,"longitude":7.45},"$maxDistanceInKilometers":94}}"#,
                "1"
            ),
            (
                #"{"place":{"$nearSphere":{"__type":"GeoPoint","latitude":46.95,"longitude":7.45},"$maxDistanceInMiles":60}}"#,
                "12"
            ),
            (
                #"{"place":{"$nearSphere":{"__type":"GeoPoint","latitude":46.95,"longitude":7.45},"$maxDistance":0.015}}"#,
                "12"
            ),
            (
                #"{"place":{"$nearSphere":{"__type":"GeoPoint","latitude":-17.5,"longitude":180},"$maxDistanceInKilometers":11}}"#,
                "35"
            ),
            (#"{"place":{"$nearSphere":{"__type":"GeoPoint","latitude":0,"longitude":0}}}"#, "1235"),
            (
                #"{"place":{"$within":{"$box":[{"__type":"GeoPoint","latitude":46,"longitude":7},{"__type":"GeoPoint","latitude":47,"longitude":8}]}}}"#,
                "1"
            ),
            (
                #"{"place":{"$within":{"$box":[{"__type":"GeoPoint","latitude":-20,"longitude":179},{"__type":"GeoPoint","latitude":0,"longitude":-179}]}}}"#,
                "35"
            ),
            (#"{"place":{"$geoWithin":{"$polygon":[[7,46],[9,46],[9,48],[7,48]]}}}"#, "12"),
            (
                #"{"place":{"$geoWithin":{"$polygon":[{"__type":"GeoPoint","latitude":46,"longitude":7},{"__type":"GeoPoint","latitude":46,"longitude":8},{"__type":"GeoPoint","latitude":48,"longitude":7}]}}}"#,
                "1"
            ),
            (#"{"place":{"$geoWithin":{"$polygon":{"__type":"Polygon","coordinates":[[46,7],[46,8],[48,7]]}}}}"#, "1"),
            (#"{"place":{"$geoWithin":{"$centerSphere":[[7.45,46.95],0.015]}}}"#, "12"),
            (#"{"area":{"$geoIntersects":{"$point":{"__type":"GeoPoint","latitude":2,"longitude":8}}}}"#, "2"),
            (#"{"area":{"$geoIntersects":{"$point":{"__type":"GeoPoint","latitude":8,"longitude":2}}}}"#, ""),
            // Other collections
            (#"{"author":{"$inQuery":{"className":"User","where":{"name":"tim"}}}}"#, "1"),
            (#"{"authors":{"$inQuery":{"className":"User","where":{"home":"Ulm"}}}}"#, "3"),
            (#"{"author":{"$notInQuery":{"className":"User","where":{"name":"tim"}}}}"#, "2345"),
            (#"{"author":{"$inQuery":{"className":"User","where":{},"order":"name","limit":1}}}"#, ""),
            (#"{"author":{"$inQuery":{"className":"User","order":"-name","limit":1}}}"#, "2"),
            (#"{"author":{"$inQuery":{"className":"Nothing","where":{}}}}"#, ""),
            (#"{"author":{"$notInQuery":{"className":"Nothing","where":{}}}}"#, "12345"),
            (#"{"city":{"$select":{"query":{"className":"User","where":{"name":"tim"}},"key":"home"}}}"#, "3"),
            (#"{"city":{"$dontSelect":{"query":{"className":"User","where":{"name":"tim"}},"key":"home"}}}"#, "1245"),
            (#"{"$relatedTo":{"object":{"__type":"Pointer","className":"User","objectId":"u1"},"key":"likes"}}"#, "24"),
            (#"{"$relatedTo":{"object":{"__type":"Pointer","className":"User","objectId":"u2"},"key":"likes"}}"#, ""),
            (
                #"{"author":{"$inQuery":{"className":"User","where":{"home":{"$select":{"query":{"className":"Note","where":{"_id":"n3"}},"key":"city"}}}}}}"#,
                "1"
            ),
        ] as [(String, String)]) func `an operator finds the right objects`(_ filter: String, _ digits: String)
        async throws
    {
        let app = try await Self.filled.value
        let answer = try await app.client.post("/storage/query/Note?order=_id&count=true", filter)
        #expect(answer.status == 200, "\(answer)")
        #expect(answer.ids.map { $0.dropFirst() }.joined() == digits)
        #expect(answer["count"] == "\(digits.count)")
    }

    @Test(
        arguments: [
            (#"{"a":{"$regex":1}}"#, ErrorCode.invalidFilter, "a"),
            (#"{"title":{"$regex":"("}}"#, .invalidFilter, "$regex"),
            (#"{"a":{"$regex":"x","$options":"q"}}"#, .invalidFilter, "a"),
            (#"{"a":{"$options":"i"}}"#, .invalidFilter, "a"),
            (#"{"a":{"$regex":"\#(String(repeating: "x", count: 1_001))"}}"#, .limitExceeded, "a"),
            (#"{"a":{"$all":1}}"#, .invalidFilter, "a"), (#"{"a":{"$all":["x",{"$regex":"y"}]}}"#, .invalidFilter, "a"),
            (#"{"a":{"$containedBy":"x"}}"#, .invalidFilter, "a"),
            (#"{"a":{"__type":"Date","iso":"x"}}"#, .invalidFilter, "a"),
            (#"{"a":{"$gt":{"__type":"Pointer","className":"User","objectId":"u"}}}"#, .invalidFilter, "a"),
            (#"{"a":{"$gt":{"$relativeTime":"soon"}}}"#, .invalidFilter, "a"),
            (#"{"a":{"$eq":{"$relativeTime":"now"}}}"#, .invalidFilter, "a"),
            (#"{"a":{"$text":{"$search":{}}}}"#, .invalidFilter, "a"),
            (#"{"a":{"$text":{"$search":{"$term":"x","$language":"klingon"}}}}"#, .invalidFilter, "a"),
            (#"{"a":{"$text":{"$search":{"$term":"x","$language":"english'); DROP TABLE x"}}}}"#, .invalidFilter, "a"),
            (#"{"a":{"$nearSphere":{"latitude":91,"longitude":0}}}"#, .invalidFilter, "a"),
            (#"{"a":{"$maxDistance":1}}"#, .invalidFilter, "a"),
            (#"{"a":{"$nearSphere":{"latitude":9,"longitude":0},"$maxDistance":-1}}"#, .invalidFilter, "a"),
            (#"{"a":{"$within":{"$box":[]}}}"#, .invalidFilter, "a"),
            (#"{"a":{"$geoWithin":{"$polygon":[[1,1],[2,2]]}}}"#, .invalidFilter, "a"),
            (#"{"a":{"$geoIntersects":{}}}"#, .invalidFilter, "a"),
            (#"{"a":{"$inQuery":{"where":{}}}}"#, .invalidFilter, "a"),
            (#"{"a":{"$inQuery":{"className":"User","order":1}}}"#, .invalidFilter, "a"),
            (#"{"a":{"$inQuery":{"className":"_changes","where":{}}}}"#, .invalidFilter, "a"),
            (#"{"a":{"$inQuery":{"className":"X\" --","where":{}}}}"#, .invalidFilter, "a"),
            (#"{"a":{"$inQuery":{"className":"User","where":{"$foo":1}}}}"#, .unknownOperator, "$foo"),
            (#"{"a":{"$inQuery":{"className":"User","redirectClassNameForKey":"x"}}}"#, .invalidFilter, "a"),
            (#"{"a":{"$select":{"query":{"className":"User"}}}}"#, .invalidFilter, "a"),
            (#"{"$relatedTo":{"key":"x"}}"#, .invalidFilter, "$relatedTo"),
            (#"{"a":\#(nestedQuery(4))}"#, .limitExceeded, nil),
        ] as [(String, ErrorCode, String?)]) func `a misused operator is refused`(
            _ filter: String, _ code: ErrorCode, _ field: String?
        ) async throws
    {
        let app = try await Self.filled.value
        try await app.expectRefusal(code, field: field) { try await app.client.post("/storage/query/Note", filter) }
    }

    @Test func `a filter with $nearSphere sorts by distance, nearest first, unless the request has an order`()
        async throws
    {
        let app = try await Self.filled.value
        let filter = #"{"place":{"$nearSphere":{"__type":"GeoPoint","latitude":-17.5,"longitude":-179.8}}}"#
        #expect(try await app.client.post("/storage/query/Note", filter).ids == ["n5", "n3", "n2", "n1"])
        #expect(try await app.client.post("/storage/query/Note?order=-_id", filter).ids == ["n5", "n3", "n2", "n1"])
        #expect(try await app.client.post("/storage/query/Note?order=_id", filter).ids == ["n1", "n2", "n3", "n5"])
        #expect(
            try await app.client.post("/storage/query/Note?cursor=", filter).isProblem(
                .invalidParameter, field: "cursor"))
        let other = #"{"place":{"$nearSphere":{"__type":"GeoPoint","latitude":0,"longitude":0}}}"#
        for (filter, ids) in [
            (#"{"$and":[\#(filter)]}"#, ["n5", "n3", "n2", "n1"]),
            (#"{"$and":[{"$and":[{"_id":{"$ne":"n3"}},\#(filter)]},\#(other)]}"#, ["n5", "n2", "n1"]),
            (#"{"$and":[\#(other)],\#(filter.dropFirst())"#, ["n5", "n3", "n2", "n1"]),
            (#"{"$or":[\#(filter)]}"#, ["n1", "n2", "n3", "n5"]),
            (#"{"$and":[{"$or":[\#(filter)]}]}"#, ["n1", "n2", "n3", "n5"]),
        ] { #expect(try await app.client.post("/storage/query/Note", filter).ids == ids, "\(filter)") }
    }

    @Test func `where is a parameter of GET too, and both must match`() async throws {
        let app = try await Self.filled.value
        #expect(
            try await app.client.get("/storage/Note?where=%7B%22tags%22:%22red%22%7D").ids == ["n1", "n2", "n4", "n5"])
        #expect(
            try await app.client.post("/storage/query/Note?where=%7B%22tags%22:%22red%22%7D", #"{"city":"Ulm"}"#).ids
                == ["n4"])
        #expect(try await app.client.get("/storage/Note?where=x").isProblem(.invalidParameter, field: "where"))
    }

    @Test func `a pattern that takes too long is stopped, and the error names it`() async throws {
        let app = try await StorageApp()
        let text = String(repeating: "a", count: 300_001)
        #expect(try await app.client.post("/storage/Note", #"{"t":"\#(text)"}"#).status == 201)
        let answer = try await app.client.post("/storage/query/Note", #"{"t":{"$regex":"^(a+)(a+)\\1\\2$"}}"#)
        #expect(answer.isProblem(.limitExceeded, field: "$regex"), "\(answer)")
        #expect(try await app.client.get("/storage/Note?keys=x")["count"] == "1")
    }

    private static func nestedQuery(_ depth: Int) -> String {
        (0..<depth).reduce("1") { inner, _ in #"{"$inQuery":{"className":"User","where":{"a":\#(inner)}}}"# }
    }
}
