import Foundation
import MartletAPI
import MartletTesting
import Testing

extension IntegrationTests {
    @Suite(.localServer)
    struct ReloadTests {
        let server: LocalServer
        let connection: Connection

        init() throws {
            server = try .current
            connection = server.connection
        }

        @Test func `SIGHUP loads new routes, and connections stay open`() async throws {
            let line = try RawConnection(port: server.port)
            let headers = [HeaderName.secret: connection.secret]
            let (old, new) = ("/api/\(connection.appKey)/storage/Notes", "/api/\(connection.appKey)/objects/Notes")
            #expect(try line.status(of: old, headers) == 200)
            #expect(try line.status(of: new, headers) == 404)

            let text = try String(contentsOf: server.routes, encoding: .utf8)
            try text.replacing("/storage/**\",\n      \"upstream", with: "/objects/**\",\n      \"upstream")
                .write(to: server.routes, atomically: true, encoding: .utf8)
            try server.signal("gateway", SIGHUP)
            try await eventually("the new route is in effect", within: .seconds(180)) {
                try line.status(of: new, headers) == 200
            }
            #expect(try line.status(of: old, headers) == 404)

            try "{".write(to: server.routes, atomically: true, encoding: .utf8)
            try server.signal("gateway", SIGHUP)
            try await eventually("the gateway logs an error", within: .seconds(180)) {
                try server.lines(of: "gateway", containing: "Could not reload the routes").count
                    == Copies.of("gateway").count
            }
            #expect(try line.status(of: new, headers) == 200, "the routes it had stay")

            try text.write(to: server.routes, atomically: true, encoding: .utf8)
            try server.signal("gateway", SIGHUP)
            try await eventually("the old route is in effect again", within: .seconds(180)) {
                try line.status(of: old, headers) == 200
            }
        }
    }
}
