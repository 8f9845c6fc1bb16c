import Foundation
import Logging
import MartletCore
import MartletTesting
import NIOCore
import NIOPosix
import Testing

@testable import OperatorCommands

@Suite struct StartChecksTests {
    @Test func `a state folder that is a file is reported`() throws {
        try withFolder { folder in
            let file = folder.appending(path: "state")
            try Data("x".utf8).write(to: file)
            let error = #expect(throws: UpError.self) { try StartChecks.makeFolder(file, mode: 0o755) }
            #expect(error?.description == "\(file.path) is a file; expected a folder (--state)")
            let below = #expect(throws: UpError.self) {
                try StartChecks.makeFolder(file.appending(path: "log"), mode: 0o700)
            }
            #expect(below?.description.hasPrefix("cannot create the folder \(file.path)/log: ") == true)
            #expect(try String(contentsOf: file, encoding: .utf8) == "x")
        }
    }

    @Test func `routes that are missing or not JSON, and missing programs, are reported`() throws {
        try withFolder { folder in
            let routes = folder.appending(path: "routes.json")
            func refusal() -> String? {
                #expect(throws: UpError.self) { try StartChecks.checkFiles(routes: routes, programs: folder) }?
                    .description
            }
            #expect(refusal()?.contains(routes.path) == true)
            try Data("{".utf8).write(to: routes)
            #expect(refusal() == "\(routes.path) is not JSON")
            try Data("{}".utf8).write(to: routes)
            #expect(refusal()?.contains("\(folder.path)/auth is missing or not executable") == true)
        }
    }

    @Test func `a port in use by another program is reported, and a free one is not`() async throws {
        // The port must not be one that the system assigns to others as soon as it is free.
        let port = try FreePort.find()
        let taken = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1).bind(host: "127.0.0.1", port: port).get()
        let error = await #expect(throws: UpError.self) {
            try await StartChecks.checkAddress(host: "127.0.0.1", port: port)
        }
        #expect(
            error?.description
                == "port \(port) of 127.0.0.1 is in use by another program (MARTLET_PORT or MARTLET_GATEWAY_HTTP_PORT sets another one)"
        )
        try await taken.close()
        try await StartChecks.checkAddress(host: "127.0.0.1", port: port)
        let foreign = await #expect(throws: UpError.self) {
            try await StartChecks.checkAddress(host: "192.0.2.1", port: port)
        }
        #expect(foreign?.description == "192.0.2.1 is not an address of this machine (MARTLET_HOST sets another one)")
    }

    @Test func `a data folder of another user, or with a mode that PostgreSQL refuses, is reported`() throws {
        try withFolder { folder in
            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder.path)
            try StartChecks.checkDataFolder(folder, owner: getuid())
            let stranger = #expect(throws: UpError.self) {
                try StartChecks.checkDataFolder(folder, owner: getuid() + 1)
            }
            #expect(stranger?.description.contains("belongs to the user \(getuid()), not to \(getuid() + 1)") == true)
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.path)
            let open = #expect(throws: UpError.self) { try StartChecks.checkDataFolder(folder, owner: getuid()) }
            #expect(open?.description.contains("has the mode 755; PostgreSQL requires 700") == true)
        }
    }

    @Test func `leftovers of an earlier supervisor are stopped from the gateway to PostgreSQL`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "martlet-leftovers-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder.appending(path: "run"), withIntermediateDirectories: true)
        let log = folder.appending(path: "log").path
        var processes: [Process] = []
        defer { for process in processes where process.isRunning { process.terminate() } }
        for name in ["postgres", "storage", "gateway"] {
            let process = Process()
            process.executableURL = URL(filePath: "/usr/bin/env")
            // The program exits a while after the signal, like a process that drains. A shell could not handle a signal
            // that this process ignores.
            let script = """
                import signal, sys, time
                def stop(number, frame):
                    time.sleep(0.3)
                    open("\(log)", "a").write(sys.argv[1] + "\\n")
                    sys.exit()
                for number in (signal.SIGTERM, signal.SIGINT): signal.signal(number, stop)
                signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM, signal.SIGINT])
                open("\(log)." + sys.argv[1], "w").close()
                while True: time.sleep(0.05)
                """
            process.arguments = ["python3", "-c", script, name, "/programs/\(name)"]
            try process.run()
            processes.append(process)
            try Data("\(process.processIdentifier)\n".utf8).write(to: folder.appending(path: "run/\(name).pid"))
            try await eventually("\(name) runs") { FileManager.default.fileExists(atPath: "\(log).\(name)") }
        }
        // Another program that has the process id of one that ended long ago.
        let innocent = Process()
        (innocent.executableURL, innocent.arguments) = (URL(filePath: "/bin/sleep"), ["60"])
        try innocent.run()
        processes.append(innocent)
        try Data("\(innocent.processIdentifier)\n".utf8).write(to: folder.appending(path: "run/auth.pid"))
        try await LeftoverProcesses(state: folder, logger: Logger(label: "test")).stop()
        #expect(try String(contentsOfFile: log, encoding: .utf8) == "gateway\nstorage\npostgres\n")
        #expect(innocent.isRunning)
    }

    private func withFolder(_ body: (URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "martlet-checks-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder)
    }
}
