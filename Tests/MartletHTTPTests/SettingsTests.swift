import Foundation
import MartletCore
import Testing

@testable import MartletHTTP

@Suite struct SettingsTests {
    @Test func `flags override the environment, and the environment overrides the file`() async throws {
        let file = try temporaryFile(
            #"{"a":{"one":"file","two":"file","three":"file"},"http":{"port":81},"ratio":0.5}"#)
        defer { try? FileManager.default.removeItem(at: file) }
        let settings = try await Settings(
            arguments: ["program", "--a-one", "flag"],
            environment: [
                "MARTLET_A_ONE": "environment", "MARTLET_A_TWO": "environment", "MARTLET_A_THREE": "",
                "MARTLET_CONFIG_FILE": file.path,
            ])
        #expect(settings.string("a.one", default: "default") == "flag")
        #expect(settings.string("a.two", default: "default") == "environment")
        #expect(settings.string("a.three", default: "default") == "file")
        #expect(settings.string("a.four", default: "default") == "default")
        #expect(settings.optionalString("a.four") == nil)
        #expect(try settings.integer("http.port", default: 80, in: 1...100) == 81)
        #expect(try settings.double("ratio", default: 1, in: 0...1) == 0.5)
    }

    @Test func `a variable without the prefix, and an empty one, are ignored`() async throws {
        let settings = try await settings(["HTTP_PORT": "1", "MARTLET_HTTP_HOST": ""])
        #expect(try settings.integer("http.port", default: 80, in: 1...100) == 80)
        #expect(settings.string("http.host", default: "h") == "h")
        #expect(throws: SettingsError.self) { try settings.requiredString("http.host") }
    }

    @Test func `a list is separated by commas, and blanks are dropped`() async throws {
        let settings = try await settings(["MARTLET_L": " a, b ,,c "])
        #expect(settings.list("l") == ["a", "b", "c"])
        #expect(settings.list("m", default: ["x"]) == ["x"])
    }

    @Test(arguments: ["81x", "1.5", "-1", "101", "99999999999999999999", "0x10", " 5", "sekrit"])
    func `an invalid or out-of-range number is refused, and the error names the key but not the value`(_ value: String)
        async throws
    {
        let settings = try await settings(["MARTLET_HTTP_PORT": value])
        let error = #expect(throws: SettingsError.self) { try settings.integer("http.port", default: 80, in: 0...100) }
        #expect(error?.key == "http.port")
        #expect(
            error?.description == "configuration http.port (MARTLET_HTTP_PORT) must be a whole number from 0 to 100")
    }

    @Test(arguments: ["x", "nan", "inf", "1.01", "-0.01"])
    func `an invalid or out-of-range fraction is refused, and the error names the key`(_ value: String) async throws {
        let settings = try await settings(["MARTLET_RATIO": value])
        let error = #expect(throws: SettingsError.self) { try settings.double("ratio", default: 1, in: 0...1) }
        #expect(error?.key == "ratio")
    }

    @Test func `a missing or short secret is refused without being shown`() async throws {
        let settings = try await settings(["MARTLET_INTERNAL_SECRET": "hunter2"])
        #expect(try settings.requiredSecret("internal.secret").withValue { $0 } == "hunter2")
        let short = #expect(throws: SettingsError.self) {
            try settings.requiredSecret("internal.secret", minimumLength: 32)
        }
        #expect(short?.description.contains("hunter2") == false)
        #expect(short?.description.contains("MARTLET_INTERNAL_SECRET") == true)
        let missing = #expect(throws: SettingsError.self) { try settings.requiredSecret("other.secret") }
        #expect(missing?.key == "other.secret")
    }

    @Test(arguments: ["not json", "[1", ""]) func `a file that is not JSON stops the process and is named by its key`(
        _ text: String
    ) async throws {
        let file = try temporaryFile(text)
        defer { try? FileManager.default.removeItem(at: file) }
        let error = await #expect(throws: SettingsError.self) { try await settings(["MARTLET_CONFIG_FILE": file.path]) }
        #expect(error?.key == "config.file")
    }

    @Test func `a missing configuration file stops the process and is named by its key`() async throws {
        let error = await #expect(throws: SettingsError.self) {
            try await settings(["MARTLET_CONFIG_FILE": "/nowhere/x.json"])
        }
        #expect(error?.key == "config.file")
    }

    @Test(
        arguments: [
            (["gateway", "--http-prot=80"], [:], "--http-prot is not a flag of gateway. Did you mean --http-port?"),
            (["storage", "--log-requests=false"], [:], "--log-requests is not a flag of storage."),
            (
                ["gateway"], ["MARTLET_LIMIT_KEY_RAET": "1"],
                "MARTLET_LIMIT_KEY_RAET is not a setting of Martlet. Did you mean MARTLET_LIMIT_KEY_RATE?"
            ),
            (["config"], ["MARTLET_HOSTNAME": "x"], "MARTLET_HOSTNAME is not a setting of Martlet."),
            (["config"], ["MARTLET_WHATEVER_ELSE": "secret"], "MARTLET_WHATEVER_ELSE is not a setting of Martlet."),
        ] as [([String], [String: String], String)])
    func `an unknown flag or variable stops the process, and the nearest known one is named`(
        _ arguments: [String], _ environment: [String: String], _ sentence: String
    ) {
        let error = #expect(throws: UnknownSetting.self) {
            try Settings.refuseUnknown(of: arguments[0], arguments: arguments, environment: environment)
        }
        #expect(error.map { $0.description == sentence } == true, "\(error?.description ?? "")")
    }

    @Test func `an unknown member of the file stops the process, unless it is for another process or a tool`() throws {
        let file = try temporaryFile(#"{"http":{"port":80},"limit":{"key":{"rates":1}}}"#)
        defer { try? FileManager.default.removeItem(at: file) }
        let error = #expect(throws: UnknownSetting.self) {
            try Settings.refuseUnknown(
                of: "gateway", arguments: ["gateway"], environment: ["MARTLET_CONFIG_FILE": file.path])
        }
        #expect(
            error?.description
                == "limit.key.rates in \(file.path) is not a setting of Martlet. Did you mean limit.key.rate?")
        let environment = [
            "MARTLET_PUSH_LEASE": "10", "MARTLET_TEST_PYTHON": "x", "MARTLET_STATE": ".martlet", "PATH": "/bin",
        ]
        try Settings.refuseUnknown(
            of: "gateway", arguments: ["gateway", "--http-port", "80"], environment: environment)
    }

    private func settings(_ environment: [String: String]) async throws -> Settings {
        try await Settings(arguments: ["program"], environment: environment)
    }

    private func temporaryFile(_ text: String) throws -> URL {
        let file = FileManager.default.temporaryDirectory.appending(path: "martlet-\(UUID().uuidString).json")
        try Data(text.utf8).write(to: file)
        return file
    }
}
