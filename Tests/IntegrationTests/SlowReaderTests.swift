import Foundation
import Glibc
import MartletAPI
import MartletTesting
import Testing

extension IntegrationTests {
    /// Clients that request long lists and do not read them.
    @Suite(.localServer, .oneCopy("measures the memory of one storage and one gateway"))
    struct SlowReaderTests {
        let server: LocalServer
        let client: Client

        init() throws {
            server = try .current
            client = Client(server.connection)
        }

        @Test
        func `200 clients that do not read are disconnected; they do not exhaust memory, and others are served`()
            async throws
        {
            let text = String(repeating: "x", count: 900_000)
            for number in 0..<12 {
                #expect(try await client.post("storage/Long", #"{"_id":"o\#(number)","t":"\#(text)"}"#).isSuccess)
            }
            #expect(try await client.get("storage/Long").text.utf8.count > 10_000_000)
            let before = try (storage: resident("storage"), gateway: resident("gateway"))
            let silent = try (0..<200).map { _ in try RawConnection(port: server.port) }
            let secret = server.connection.secret
            for connection in silent {
                try connection.write(
                    "GET /api/\(server.connection.appKey)/storage/Long HTTP/1.1\r\nhost: localhost\r\n\(HeaderName.secret): \(secret)\r\n\r\n"
                )
            }
            var peak = before
            try await eventually("large lists are refused for lack of memory", within: .seconds(180)) {
                peak = try (
                    storage: max(peak.storage, resident("storage")), gateway: max(peak.gateway, resident("gateway"))
                )
                let reply = try await client.get("storage/Long")
                #expect(reply.isSuccess || [429, 503].contains(reply.status), "\(reply)")
                return reply.isProblem(.unavailable) && reply.header("retry-after") != nil
            }
            // Small requests are served meanwhile.
            let small = try await client.get("storage/Long/o1?keys=_id")
            #expect(small.isSuccess || small.status == 429, "\(small)")
            try await eventually("the silent clients are disconnected, and memory is free again", within: .seconds(180))
            {
                peak = try (
                    storage: max(peak.storage, resident("storage")), gateway: max(peak.gateway, resident("gateway"))
                )
                return try await client.get("storage/Long").isSuccess
            }
            // 128 MiB for responses, the same for the rows that they are built from, and libpq's buffers for four
            // connections.
            #expect(peak.storage - before.storage < 420 << 20, "\((peak.storage - before.storage) >> 20) MiB")
            #expect(peak.gateway - before.gateway < 200 << 20, "\((peak.gateway - before.gateway) >> 20) MiB")
            withExtendedLifetime(silent) {}
        }

        private func resident(_ name: String) throws -> Int {
            let fields = try String(contentsOfFile: "/proc/\(server.pid(of: name))/statm", encoding: .utf8).split(
                separator: " ")
            return (fields.count > 1 ? Int(fields[1]) ?? 0 : 0) * sysconf(Int32(_SC_PAGESIZE))
        }
    }
}
