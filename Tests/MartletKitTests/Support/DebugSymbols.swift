import Foundation
import Testing

@testable import MartletKit

/// The names of functions in the program that runs these tests, as a build server uploads those of an app.
enum DebugSymbols {
    /// From the package `llvm`, which `deploy/test` installs, because the server needs its symbolizer.
    private static let objcopy = "/usr/bin/llvm-objcopy"

    static let canUpload = LiveServer.shared != nil && FileManager.default.isExecutableFile(atPath: objcopy)

    /// Uploads only the names that contain `text`. Uploading the names of all tests would take minutes.
    static func upload(namesWith text: String) async throws {
        let server = try #require(LiveServer.shared)
        let program = try #require(CodeImage.loaded().first)
        let folder = Scratch.folder()
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appendingPathComponent("tests.debug")
        // Without the modules for debuggers, which are larger than everything else.
        let selection = [
            "--remove-section=.swift_ast", "--wildcard", "--strip-symbol=!*\(text)*", "--strip-symbol=*",
        ]
        _ = try run(objcopy, ["--only-keep-debug"] + selection + [program.path, file.path])
        let sha1 = String(try run("/usr/bin/sha1sum", [file.path]).prefix(40))
        let boundary = UUID().uuidString
        let head = "--\(boundary)\r\nContent-Disposition: form-data; name=\"file\"; filename=\"\(sha1)\"\r\n\r\n"
        let body = Data(head.utf8) + (try Data(contentsOf: file)) + Data("\r\n--\(boundary)--\r\n".utf8)
        try await server.manage(
            "POST", "crashes/symbols/chunks", data: body,
            headers: ["content-type": "multipart/form-data; boundary=\(boundary)"])
        let files: JSON = .object([sha1: ["name": "tests", "chunks": [.string(sha1)]]])
        try await eventually("the server has assembled the debug file") {
            let answer = try await server.manage("POST", "crashes/symbols/assemble", files)[sha1] ?? .null
            try #require(answer["state"] != "error", "\(answer.text)")
            return answer["state"] == "ok"
        }
    }

    private static func run(_ program: String, _ arguments: [String]) throws -> String {
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        try #require(process.terminationStatus == 0, "\(program) failed")
        return text
    }
}
