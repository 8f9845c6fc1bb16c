import Foundation
import Testing

@testable import MartletKit

/// Prints how long it takes to synchronize, query and open 10,000 objects. Times are not asserted: they depend on the
/// machine and the build.
struct OfflineFigures {
    struct Row: Storable, Equatable {
        static let collection = TestServer.name("KitTenThousand")
        var title: String
        var n: Int
        var room: String
        var tags: [String]
    }

    private func milliseconds(_ body: () async throws -> Void) async rethrows -> Double {
        let start = DispatchTime.now().uptimeNanoseconds
        try await body()
        return Double(DispatchTime.now().uptimeNanoseconds - start) / 1e6
    }

    @Test func `ten thousand objects are synchronized, queried, and read after a restart`() async throws {
        let folder = Scratch.folder()
        let device = try await TestServer.offlineDevice(folder: folder)
        for page in 0..<10 {
            try await device.storage.create(
                contentsOf: (0..<1_000).map { index in
                    let n = page * 1_000 + index
                    return Row(
                        title: "Row \(n * 7_919 % 10_000)", n: n % 1_000, room: "r\(n % 20)", tags: ["a", "b\(n % 7)"])
                })
        }
        let rows = try await device.offline.collection(Row.self)
        let syncing = try await milliseconds { try await rows.sync() }
        #expect(try await rows.count() == 10_000)
        let queries: [(String, Query<Row>)] = [
            ("room and n, by title, 20", Row.query().where(\.room == "r3" && \.n > 500).order(by: \.title).limit(20)),
            ("n, by n descending, 20", Row.query().where(\.n > 900).order(by: \.n, .descending).limit(20)),
            ("a tag, 100", Row.query().where(.contains(\.tags, "b3"))),
            ("all by title, 20", Row.query().order(by: \.title).limit(20)),
        ]
        for (name, query) in queries {
            let answer = try await device.storage.find(query)
            #expect(try await rows.find(query) == answer)
            var times: [Double] = []
            for _ in 0..<11 { times.append(try await milliseconds { _ = try await rows.find(query) }) }
            print("FIGURE query (\(name)): \(times.sorted()[5]) ms, median of 11")
        }
        let again = try await milliseconds { try await rows.sync() }
        await device.offline.closeAll()
        let opened = try await TestServer.offlineDevice(folder: folder)
        let opening = try await milliseconds { _ = try await opened.offline.collection(Row.self) }
        print("FIGURE sync 10,000: \(syncing) ms; again without changes: \(again) ms; open: \(opening) ms")
    }
}
