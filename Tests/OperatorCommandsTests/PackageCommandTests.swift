import ArgumentParser
import Foundation
import MartletCore
import Testing

@testable import OperatorCommands

/// Commands of the program that the Debian package calls.
@Suite struct PackageCommandTests {
    @Test func `the version is a semantic version`() {
        #expect(MartletVersion.current.wholeMatch(of: /\d+\.\d+\.\d+(-[0-9a-z.]+)?/) != nil)
    }

    @Test(arguments: [
        ([:], "http://127.0.0.1:80"),
        (["MARTLET_HOST": "::"], "http://127.0.0.1:80"),
        (["MARTLET_HOST": "::1", "MARTLET_TLS_CERTIFICATE": "c.pem"], "https://[::1]:80"),
        (["MARTLET_HOST": "::", "MARTLET_PUBLIC_URL": "https://api.example.org"], "https://api.example.org"),
        (["MARTLET_PUBLIC_URL": ""], "http://127.0.0.1:80"),
    ])
    func `the public address is the operator's, if there is one`(environment: [String: String], url: String) {
        #expect(LocalServer.publicURL(environment, port: 80) == url)
    }

    @Test func `arguments of a script are passed on as they are`() throws {
        let command = try MartletCommand.parseAsRoot(["backup", "now", "--help", "-x", "--", "full"])
        #expect((command as? BackupCommand)?.arguments == ["now", "--help", "-x", "--", "full"])
    }

    @Test func `the commands of an app's archive pass their names to the script`() throws {
        let command = try MartletCommand.parseAsRoot(["app", "restore", "shop.age", "--dry-run"])
        #expect((command as? AppRestoreCommand)?.arguments == ["shop.age", "--dry-run"])
        #expect(AppRestoreCommand.words == ["restore"])
    }

    @Test(arguments: [["setup"], ["backup"], ["restore"], ["app", "backup"], ["app", "backups"], ["app", "delete"]])
    func `without the package its commands are refused`(words: [String]) throws {
        var command = try MartletCommand.parseAsRoot(words + ["list"])
        let error = #expect(throws: ValidationError.self) { try command.run() }
        #expect(error?.message.contains("needs the Debian package") == true)
    }

    @Test func `the announcement shows a key and a secret, but no master key`() {
        let connection = Connection(
            url: "https://api.example.org", appId: "a", appNumber: 1, appKey: "KEY", secret: "SECRET",
            masterKey: "MASTER", testAppKey: "t", ingestKey: "i", evaluationKey: "e", staffUser: "admin",
            staffPassword: "PASSWORD", databaseURL: "postgresql://u:p@h/d", services: [:], internalServices: [:])
        let text = connection.announcement(file: URL(fileURLWithPath: "/srv/connection.json"))
        #expect(text.contains("https://api.example.org/api/KEY/storage/Notes") && text.contains("SECRET"))
        #expect(text.contains("/srv/connection.json"))
        for secret in ["MASTER", "PASSWORD", "postgresql:"] { #expect(!text.contains(secret)) }
    }
}
