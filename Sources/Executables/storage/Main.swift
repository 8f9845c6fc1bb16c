import StorageService
import MartletHTTP

@main
enum Main {
    static func main() async {
        await ServiceProcess.run(StorageService.self)
    }
}
