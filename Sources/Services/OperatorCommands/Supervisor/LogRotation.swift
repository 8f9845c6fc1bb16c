import Foundation
import ServiceLifecycle

/// Limits the size of the log folder: a log larger than `maximumSizeInBytes` is copied to `<name>.log.1` and truncated.
///
/// Lines written between copying and truncating are lost, which takes a few milliseconds.
struct LogRotation: Service {
    static let maximumSizeInBytes = 64 << 20
    private static let interval: Duration = .seconds(10)

    let folder: URL

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while (try? await Task.sleep(for: Self.interval)) != nil { rotate() }
        }
    }

    func rotate() {
        let files = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
        for file in files where file.pathExtension == "log" {
            let size = (try? FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int) ?? 0
            guard size > Self.maximumSizeInBytes else { continue }
            let old = file.appendingPathExtension("1")
            try? FileManager.default.removeItem(at: old)
            try? FileManager.default.copyItem(at: file, to: old)
            truncate(file.path, 0)
        }
    }
}
