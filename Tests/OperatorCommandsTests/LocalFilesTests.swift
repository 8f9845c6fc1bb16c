import AuthService
import Foundation
import Logging
import MartletCore
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import OperatorCommands

@Suite struct StoredSecretsTests {
    @Test func `secrets are created once, readable only by the owner`() throws {
        try withFolder { folder in
            let file = folder.appending(path: "secrets.json")
            let made = try StoredSecrets.readOrMake(at: file)
            #expect(try mode(file) == 0o600)
            #expect(Set(made.servicePasswords.keys) == Set(ServiceRole.all.map(\.name)))
            let all = [made.internalSecret, made.superuserPassword] + made.servicePasswords.values
            #expect(Set(all).count == all.count)
            #expect(all.allSatisfy { Base64URL.decode($0)?.count == 32 })
            let read = try StoredSecrets.readOrMake(at: file)
            #expect(read.internalSecret == made.internalSecret && read.servicePasswords == made.servicePasswords)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["secrets.json"])
        }
    }

    @Test(arguments: ["", "{", "{}"]) func `a file that cannot be read is not replaced`(_ text: String) throws {
        try withFolder { folder in
            let file = folder.appending(path: "secrets.json")
            try Data(text.utf8).write(to: file)
            #expect(throws: (any Error).self) { try StoredSecrets.readOrMake(at: file) }
            #expect(try String(contentsOf: file, encoding: .utf8) == text)
        }
    }
}

@Suite struct ConnectionTests {
    @Test func `a connection is written readable only by the owner, and read again`() throws {
        try withFolder { folder in
            let file = folder.appending(path: "connection.json")
            // An existing file, readable by all, is replaced.
            try Data("old".utf8).write(to: file)
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file.path)
            let connection = Connection(
                url: "http://127.0.0.1:8080", appId: "a", appNumber: 1, appKey: "k", secret: "s", masterKey: "m",
                testAppKey: "t", ingestKey: "i",
                evaluationKey: "e", oidcIssuer: "o", sentryDSN: "d", staffUser: "u", staffPassword: "p",
                databaseURL: "postgresql://x", services: ["auth": "http://1"],
                internalServices: ["auth": "http://2"])
            try connection.write(to: file)
            #expect(try mode(file) == 0o600)
            let text = try String(contentsOf: file, encoding: .utf8)
            #expect(text.contains(#""url" : "http://127.0.0.1:8080""#) && text.hasSuffix("}\n"))
            for key in [
                "url", "appId", "appKey", "secret", "masterKey", "testAppKey", "ingestKey", "evaluationKey",
                "oidcIssuer", "sentryDSN", "staffUser", "staffPassword", "databaseURL", "services",
            ] {
                #expect(text.contains("\"\(key)\" :"), "\(key)")
            }
            let read = try Connection.read(from: file)
            #expect(read.masterKey == "m" && read.services == ["auth": "http://1"])
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["connection.json"])
        }
    }

    @Test func `a missing folder is an error, and no file is written elsewhere`() {
        #expect(throws: (any Error).self) {
            try PrivateFile.write(Data(), to: URL(fileURLWithPath: "/nowhere/x/y.json"))
        }
    }
}

@Suite struct ServerPlanTests {
    @Test func `every process gets its own settings and no other's secrets`() throws {
        try withFolder { folder in
            let secrets = try StoredSecrets.readOrMake(at: folder.appending(path: "secrets.json"))
            let plan = try ServerPlan(
                publicHost: "0.0.0.0", publicPort: 9_999, ports: Array(20_000..<20_000 + ServerPlan.portCount),
                state: folder,
                routes: URL(fileURLWithPath: "/r.json"), secrets: secrets,
                inherited: [
                    "PATH": "/bin", "MARTLET_DATABASE_URL": "superuser", "MARTLET_LOG_LEVEL": "debug",
                    "MARTLET_GATEWAY_LIMIT_KEY_RATE": "5",
                    "MARTLET_PROJECT": "x",
                ]
            ) { "url-of-\($0)" }
            #expect(plan.entries.map(\.name) == ServiceRole.all.map(\.name) + ["gateway"])
            #expect(Set(plan.entries.flatMap { [$0.port, $0.internalPort] }).count == 2 * plan.entries.count)
            for entry in plan.entries {
                #expect(entry.environment["PATH"] == "/bin")
                #expect(entry.environment["MARTLET_LOG_LEVEL"] == "debug")
                #expect(entry.environment["MARTLET_INTERNAL_SECRET"] == secrets.internalSecret)
                #expect(entry.environment["MARTLET_HTTP_PORT"] == "\(entry.port)")
                #expect(
                    entry.environment["MARTLET_DATABASE_URL"]
                        == (entry.name == "gateway" ? nil : "url-of-\(entry.name)"))
                #expect(entry.environment["MARTLET_PROJECT"] == nil)
                #expect(entry.environment["MARTLET_LIMIT_KEY_RATE"] == (entry.name == "gateway" ? "5" : nil))
            }
            #expect(plan.issuer(of: "shop") == "http://127.0.0.1:9999/oidc/shop")
            let gateway = try #require(plan.entries.last)
            #expect(gateway.port == 9_999 && gateway.environment["MARTLET_HTTP_HOST"] == "0.0.0.0")
            for entry in plan.entries.dropLast() {
                let socket = folder.appending(path: "run/\(entry.name).sock").path
                #expect(entry.environment["MARTLET_HTTP_SOCKET"] == socket)
                #expect(gateway.environment["MARTLET_UPSTREAM_\(entry.name.uppercased())"] == "unix:" + socket)
                for other in plan.entries.dropLast() {
                    let known = entry.environment["MARTLET_SERVICES_\(other.name.uppercased())"]
                    // Any service may call any other; the gateway has its upstreams.
                    #expect(known == (entry.name != other.name ? other.address : nil))
                }
            }
        }
    }

    @Test func `a port assigned to one process is used, and others find it there`() throws {
        try withFolder { folder in
            let secrets = try StoredSecrets.readOrMake(at: folder.appending(path: "secrets.json"))
            func plan(_ inherited: [String: String]) throws -> ServerPlan {
                try ServerPlan(
                    publicHost: "127.0.0.1", publicPort: LocalServer.port(inherited),
                    ports: Array(20_000..<20_000 + ServerPlan.portCount),
                    state: folder, routes: URL(fileURLWithPath: "/r.json"), secrets: secrets, inherited: inherited
                ) { _ in "" }
            }
            let entries = try plan([
                "MARTLET_PORT": "9998", "MARTLET_GATEWAY_HTTP_PORT": "9999", "MARTLET_GATEWAY_INTERNAL_PORT": "9997",
                "MARTLET_STORAGE_HTTP_PORT": "9996",
            ]).entries
            let (gateway, storage) = (try #require(entries.last), try #require(entries.first { $0.name == "storage" }))
            #expect(
                gateway.environment["MARTLET_HTTP_PORT"] == "9999"
                    && gateway.environment["MARTLET_INTERNAL_PORT"] == "9997")
            #expect(storage.environment["MARTLET_HTTP_PORT"] == "9996" && storage.internalPort >= 20_000)
            #expect(
                entries.first { $0.name == "auth" }?.environment["MARTLET_SERVICES_STORAGE"] == "http://127.0.0.1:9996")
            #expect(throws: UpError.self) { try plan(["MARTLET_STORAGE_HTTP_PORT": "no"]) }
            let twice = [
                "MARTLET_DATABASE_URL": "postgresql://u:p@h/d", "MARTLET_PORT": "9998",
                "MARTLET_STORAGE_HTTP_PORT": "9998",
            ]
            let error = #expect(throws: UpError.self) {
                try LocalServer(
                    state: folder, programs: folder, routes: folder, environment: twice, logger: Logger(label: "test"))
            }
            #expect(error?.description == "two settings name the same port")
        }
    }

    @Test func `several copies have addresses of their own, share folders, and are all known to both gateways`() throws
    {
        try withFolder { folder in
            let secrets = try StoredSecrets.readOrMake(at: folder.appending(path: "secrets.json"))
            let plan = try ServerPlan(
                copies: 3, publicHost: "127.0.0.1", publicPort: 9_999,
                ports: Array(20_000..<20_000 + ServerPlan.numberOfPorts(copies: 3)), state: folder,
                routes: URL(fileURLWithPath: "/r.json"), secrets: secrets,
                inherited: ["MARTLET_STORAGE_HTTP_PORT": "9996", "MARTLET_STORAGE_HTTP_SOCKET": "/run/storage.sock"]
            ) { "url-of-\($0)" }
            #expect(Set(plan.entries.map(\.name)).count == 17)
            #expect(Set(plan.entries.flatMap { [$0.port, $0.internalPort] }).count == 2 * 17)
            let storages = plan.entries.filter { $0.program == "storage" }
            #expect(storages.map(\.name) == ["storage", "storage-2", "storage-3"])
            #expect(storages[0].port == 9_996 && storages[1].port >= 20_000)
            #expect(Set(storages.map { $0.environment["MARTLET_FILES_DIRECTORY"] }).count == 1)
            #expect(storages.allSatisfy { $0.environment["MARTLET_DATABASE_URL"] == "url-of-storage" })
            let sockets = ["/run/storage.sock"] + (2...3).map { folder.appending(path: "run/storage-\($0).sock").path }
            #expect(storages.compactMap(\.socket) == sockets)
            let config = try #require(plan.entries.first { $0.name == "config-2" })
            #expect(config.environment["MARTLET_SERVICES_STORAGE"] == storages[1].address)
            let gateways = plan.entries.filter { $0.program == "gateway" }
            #expect(gateways.map(\.name) == ["gateway-2", "gateway"] && gateways.map(\.port).last == 9_999)
            for gateway in gateways {
                #expect(
                    gateway.environment["MARTLET_UPSTREAM_STORAGE"]
                        == sockets.map { "unix:" + $0 }.joined(separator: ","))
            }
            #expect(Set(gateways.map { $0.environment["MARTLET_STATE_DIRECTORY"] }).count == 2)
        }
    }

    @Test func `a state folder whose path is too long for sockets uses ports`() throws {
        try withFolder { folder in
            let secrets = try StoredSecrets.readOrMake(at: folder.appending(path: "secrets.json"))
            let plan = try ServerPlan(
                publicHost: "127.0.0.1", publicPort: 9_999, ports: Array(20_000..<20_000 + ServerPlan.portCount),
                state: folder.appending(path: String(repeating: "x", count: 107)),
                routes: URL(fileURLWithPath: "/r.json"), secrets: secrets, inherited: [:]
            ) { _ in "" }
            let gateway = try #require(plan.entries.last)
            for entry in plan.entries.dropLast() {
                #expect(entry.environment["MARTLET_HTTP_SOCKET"] == nil)
                #expect(gateway.environment["MARTLET_UPSTREAM_\(entry.name.uppercased())"] == "127.0.0.1:\(entry.port)")
            }
        }
    }
}

@Suite struct NewAppTests {
    @Test func `a new app has a working credential of each kind`() async throws {
        let database = try await MigratedDatabase.make()
        try await database.withSuperuser { client in
            let app = try await NewApp.create(name: "Shop", in: client)
            let rows = try await client.query(
                "SELECT kind || coalesce(environment, ''), sha256 FROM auth.credentials WHERE app_id = \(app.appId)")
            var stored: [String: String] = [:]
            for row in rows { stored[try row.decode(0)] = try row.decode(1, as: String.self) }
            let texts = [
                "clientlive": app.appKey, "clienttest": app.testAppKey, "secret": app.secret,
                "master": app.masterKey ?? "", "ingestlive": app.ingestKey,
                "evaluationlive": app.evaluationKey,
            ]
            #expect(stored == texts.mapValues { Credential.hexDigest(of: $0) })
        }
    }
}

private func withFolder(_ body: (URL) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "martlet-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: folder) }
    try body(folder)
}

private func mode(_ file: URL) throws -> Int? {
    try (FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? NSNumber)?.intValue
}
