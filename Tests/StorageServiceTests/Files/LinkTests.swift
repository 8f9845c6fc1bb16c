import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletTesting
import Testing

@testable import StorageService

@Suite struct LinkTests {
    private func link(_ app: StorageApp, _ path: String, _ body: String = "{}") async throws -> String {
        let answer = try await app.user("ann").post("/upload-link/" + path, body)
        #expect(answer.status == 201, "\(answer)")
        return "/" + (try #require(answer["path"])).dropFirst().dropLast()
    }

    @Test func `a link opens its file without a secret, also in ranges`() async throws {
        let app = try await StorageApp()
        let anybody = app.client.acting(as: app.principal(.link))
        _ = try await app.user("ann").send("PUT", "/upload/a/b%20c.txt?readers=ann", "hello")
        let link = try await link(app, "a/b%20c.txt")
        let answer = try await anybody.get(link)
        #expect(answer.status == 200 && answer.text == "hello", "\(answer)")
        #expect(try await anybody.send("GET", link, bytes: nil, headers: ["range": "bytes=1-2"]).text == "el")
        #expect(try await anybody.send("HEAD", link).header("content-length") == "5")
        // A new version is the same file, but a later file at the same path is not.
        _ = try await app.user("ann").send("PUT", "/upload/a/b%20c.txt", "hello 2")
        #expect(try await anybody.get(link).text == "hello 2")
        _ = try await app.user("ann").delete("/upload/a/b%20c.txt")
        #expect(try await anybody.get(link).isProblem(.invalidLink))
        _ = try await app.user("ann").send("PUT", "/upload/a/b%20c.txt?readers=ann", "another")
        #expect(try await anybody.get(link).isProblem(.invalidLink))
    }

    @Test func `a link opens nothing else`() async throws {
        let app = try await StorageApp()
        let other = app.neighbour()
        let anybody = app.client.acting(as: app.principal(.link))
        for path in ["f", "g"] { _ = try await app.client.send("PUT", "/upload/" + path, "1") }
        _ = try await other.client.send("PUT", "/upload/f", "1")
        let link = try await link(app, "f")
        let token = link.split(separator: "/")[1]
        let parts = token.split(separator: ".")
        let later = "\(parts[0]).\(try #require(Int(parts[1])) + 1).\(parts[2])"
        let ofTest = "test.\(parts[1]).\(parts[2])"
        for forged in [
            "/link/\(token)/g", "/link/\(later)/f", "/link/\(token)x/f", "/link/\(parts[0]).\(parts[1])./f",
            "/link/\(parts[1]).\(parts[2])/f", "/link/\(ofTest)/f", "/link/x/f", "\(link)?thumbnail=small",
            "/link/\(token)/h",
        ] {
            #expect(try await anybody.get(forged).isProblem(.invalidLink), "\(forged)")
        }
        #expect(
            try await other.client.acting(as: other.principal(.link)).get(link).isProblem(.invalidLink),
            "another app's file")
        _ = try await app.testClient.send("PUT", "/upload/f", "of test")
        #expect(try await anybody.get("/link/\(ofTest)/f").isProblem(.invalidLink), "another environment's file")
        #expect(try await anybody.get("/upload/f").isProblem(.forbidden), "the key alone")
    }

    @Test(arguments: AppEnvironment.allCases)
    func `a link contains the environment of its file`(_ environment: AppEnvironment) async throws {
        let app = try await StorageApp()
        _ = try await app.client.send("PUT", "/upload/f", "of live")
        _ = try await app.testClient.send("PUT", "/upload/f", "of test")
        let made = try await (environment == .test ? app.testClient : app.client).post("/upload-link/f", "{}")
        let link = "/" + (try #require(made["path"])).dropFirst().dropLast()
        for requested in AppEnvironment.allCases {
            #expect(
                try await app.client.acting(as: app.principal(.link, requested)).get(link).text
                    == "of \(environment.rawValue)")
        }
    }

    @Test func `a link expires`() async throws {
        let app = try await StorageApp()
        _ = try await app.client.send("PUT", "/upload/f", "1")
        let links = (
            try await link(app, "f", #"{"expiresInSeconds":60}"#), try await link(app, "f", #"{"expiresInSeconds":1}"#)
        )
        let anybody = app.client.acting(as: app.principal(.link))
        try await Task.sleep(for: .seconds(2))
        #expect(try await anybody.get(links.0).status == 200)
        #expect(try await anybody.get(links.1).isProblem(.invalidLink))
    }

    @Test(arguments: ["0", "-1", "604801", "\"x\""])
    func `a link is valid for a second to seven days`(_ seconds: String) async throws {
        let app = try await StorageApp()
        _ = try await app.client.send("PUT", "/upload/f", "1")
        try await app.expectRefusal(.invalidBody, field: "expiresInSeconds") {
            try await app.client.post("/upload-link/f", #"{"expiresInSeconds":\#(seconds)}"#)
        }
    }
}
