import Foundation
import MartletPostgres
import MartletTesting
import Testing

extension IntegrationTests {
    struct CommandTests {
        @Test func `doctor reports a healthy server as healthy and names a dead service`() async throws {
            try await LocalServer.with { server in
                let healthy = try await Programs.run("martlet", ["doctor", "--state", server.state.path])
                #expect(healthy.status == 0 && !healthy.output.contains("WRONG"), "\(healthy)")
                #expect(healthy.output.contains("ok    no rule opens closed live data"), "\(healthy)")
                try await server.withoutSupervisor {
                    try server.signal("config", SIGKILL)
                    let wrong = try await Programs.run("martlet", ["doctor", "--state", server.state.path])
                    #expect(wrong.status == 1)
                    #expect(
                        wrong.output.split(separator: "\n").filter { $0.hasPrefix("WRONG") }
                            == Copies.of("config").map { "WRONG \($0) is ready" })
                    try server.signal("postgres", SIGKILL)
                    let worse = try await Programs.run("martlet", ["doctor", "--state", server.state.path])
                    #expect(worse.status == 1 && worse.output.contains("WRONG the database answers"), "\(worse)")
                    for text in [server.connection.databaseURL, server.connection.secret] {
                        #expect(!worse.output.contains(text))
                    }
                }
            }
        }

        @Test func `migrate applies everything the first time and nothing the second`() async throws {
            let postgres = try await PostgresServer.start()
            let name = try await postgres.makeDatabaseNamed()
            let url = "postgresql://\(postgres.user):\(postgres.password)@127.0.0.1:\(postgres.port)/\(name)"
            let first = try await Programs.run("martlet", ["migrate"], environment: ["MARTLET_DATABASE_URL": url])
            #expect(
                first.status == 0 && first.output.contains("applied auth") && first.output.contains("applied storage"),
                "\(first)")
            let second = try await Programs.run("martlet", ["migrate"], environment: ["MARTLET_DATABASE_URL": url])
            #expect(second.status == 0 && second.output == "up to date\n", "\(second)")
            try await postgres.stop()
            let gone = try await Programs.run("martlet", ["migrate"], environment: ["MARTLET_DATABASE_URL": url])
            #expect(gone.status == 1 && !(gone.errors + gone.output).contains(postgres.password), "\(gone)")
        }

        @Test func `a command without a database address says which variable to set`() async throws {
            for arguments in [["migrate"], ["app", "list"], ["key", "list", "--app", "x"]] {
                let result = try await Programs.run("martlet", arguments)
                #expect(result.status != 0 && result.errors.contains("MARTLET_DATABASE_URL"), "\(arguments) \(result)")
            }
        }

        struct Wrong: Sendable, CustomTestStringConvertible {
            var programs = ["auth", "storage", "config", "analytics", "notifications", "gateway"]
            var what: String
            /// Changes to a valid configuration; nil removes a variable.
            var environment: [String: String?]
            /// The name that the single line of output must contain.
            var names: String

            var testDescription: String { what }
        }

        static let wrong = [
            Wrong(
                what: "no internal secret", environment: ["MARTLET_INTERNAL_SECRET": nil],
                names: "MARTLET_INTERNAL_SECRET"),
            Wrong(
                what: "a short internal secret", environment: ["MARTLET_INTERNAL_SECRET": "topsecret"],
                names: "MARTLET_INTERNAL_SECRET"),
            Wrong(
                what: "a port that is not a number", environment: ["MARTLET_HTTP_PORT": "x"],
                names: "MARTLET_HTTP_PORT"),
            Wrong(what: "a port out of range", environment: ["MARTLET_HTTP_PORT": "65536"], names: "MARTLET_HTTP_PORT"),
            Wrong(
                what: "an internal port out of range", environment: ["MARTLET_INTERNAL_PORT": "-1"],
                names: "MARTLET_INTERNAL_PORT"),
            Wrong(
                what: "a misspelt setting", environment: ["MARTLET_INTERNAL_PROT": "0"],
                names: "MARTLET_INTERNAL_PROT is not a setting of Martlet. Did you mean MARTLET_INTERNAL_PORT?"),
            Wrong(
                what: "an unknown log level", environment: ["MARTLET_LOG_LEVEL": "loud"], names: "MARTLET_LOG_LEVEL"),
            Wrong(
                programs: ["auth", "storage", "config", "analytics", "notifications"], what: "no database",
                environment: ["MARTLET_DATABASE_URL": nil], names: "MARTLET_DATABASE_URL"),
            Wrong(
                programs: ["storage"], what: "no connections", environment: ["MARTLET_DATABASE_CONNECTIONS": "0"],
                names: "MARTLET_DATABASE_CONNECTIONS"),
            Wrong(
                programs: ["gateway"], what: "no address of auth", environment: ["MARTLET_KEYRING_URL": nil],
                names: "MARTLET_KEYRING_URL"),
            Wrong(
                programs: ["gateway"], what: "a routes file that is not there",
                environment: ["MARTLET_ROUTES_FILE": "/nowhere/routes.json"], names: "/nowhere/routes.json"),
            Wrong(
                programs: ["gateway"], what: "a routes file that is not JSON",
                environment: ["MARTLET_ROUTES_FILE": "/etc/passwd"],
                names: "/etc/passwd"),
            Wrong(
                programs: ["gateway"], what: "a route to a service without an address",
                environment: ["MARTLET_UPSTREAM_STORAGE": nil], names: "storage"),
            Wrong(
                programs: ["gateway"], what: "an upstream that is not an address",
                environment: ["MARTLET_UPSTREAM_STORAGE": "no port"],
                names: "no port"),
            Wrong(
                programs: ["gateway"], what: "a certificate without its key",
                environment: ["MARTLET_TLS_CERTIFICATE": "/nowhere.pem"],
                names: "MARTLET_TLS_KEY"),
            Wrong(
                programs: ["gateway"], what: "a redirect without a certificate",
                environment: ["MARTLET_TLS_REDIRECT_PORT": "80", "MARTLET_PUBLIC_URL": "https://api.example.org"],
                names: "tls.redirect.port needs tls.certificate"),
            Wrong(
                programs: ["gateway"], what: "a trusted proxy that is not a network",
                environment: ["MARTLET_TRUSTED_PROXIES": "nonsense"],
                names: "trusted.proxies"),
        ]

        @Test(arguments: wrong)
        func `a program with an invalid configuration exits with status 1 and one line that names the key`(
            _ wrong: Wrong
        )
            async throws
        {
            let folder = try TemporaryFolder.make()
            defer { TemporaryFolder.remove(folder) }
            for program in wrong.programs {
                var environment = [
                    "MARTLET_INTERNAL_SECRET": "an-internal-secret-of-the-tests-0123456789",
                    "MARTLET_DATABASE_URL": "postgresql://martlet_x:password-of-the-tests@127.0.0.1:1/martlet",
                    "MARTLET_HTTP_PORT": "0", "MARTLET_INTERNAL_PORT": "0", "MARTLET_KEYRING_URL": "http://127.0.0.1:1",
                    "MARTLET_ROUTES_FILE": Repository.routes.path, "MARTLET_UPSTREAM_STORAGE": "127.0.0.1:1",
                    "MARTLET_UPSTREAM_AUTH": "127.0.0.1:1", "MARTLET_UPSTREAM_CONFIG": "127.0.0.1:1",
                    "MARTLET_UPSTREAM_ANALYTICS": "127.0.0.1:1",
                    "MARTLET_UPSTREAM_NOTIFICATIONS": "127.0.0.1:1",
                    "MARTLET_STATE_DIRECTORY": folder.path,
                ]
                for (key, value) in wrong.environment { environment[key] = value }
                let result = try await Programs.run(program, environment: environment)
                #expect(result.status == 1 && result.output == "", "\(program): \(result)")
                let lines = result.errors.split(separator: "\n", omittingEmptySubsequences: false)
                #expect(lines.count == 2 && lines.last == "", "one line of \(program): \(result.errors)")
                #expect(
                    result.errors.hasPrefix(program + ": ") && result.errors.contains(wrong.names), "\(result.errors)")
                for secret in ["topsecret", "password-of-the-tests"] { #expect(!result.errors.contains(secret)) }
            }
        }
    }
}
