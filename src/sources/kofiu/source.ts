/** The Korean list of virtual asset service providers, a workbook that is attached to the newest post of a board. */
import { fieldText, isObject, objectsIn } from '../json.ts';
import { registerSource } from '../source.ts';

const SITE = 'https://www.kofiu.go.kr';
const BOARD = `${SITE}/cmn/board/selectBoardListFile.do?ntcnYardOrdrNo=&page=1&seCd=0007&selScope=&size=4&subSech=`;
/** Title of the posts: state of the reports by virtual asset service providers. */
const TITLE = '가상자산사업자 신고 현황';

export const kofiu = registerSource({
  id: 'kofiu',
  name: 'KoFIU reports of virtual asset service providers',
  publisher: 'Korea Financial Intelligence Unit',
  homepage: `${SITE}/kor/notification/notice.do`,
  licence: 'terms of the authority',
  files: [
    {
      name: 'kofiu-vasp.xlsx',
      url: BOARD,
      // The token of the file is valid only with the cookie of the list.
      collect: async function* (fetchPart) {
        const board: unknown = JSON.parse((await fetchPart(BOARD)).toString('utf8'));
        const posts = isObject(board) ? objectsIn(board.result) : [];
        const post = posts.find((one) => fieldText(one, 'ntcnYardSjNm').includes(TITLE));
        const [attached] = objectsIn(post?.fileList);
        const id = attached === undefined ? '' : fieldText(attached, 'fileId');
        if (id === '') throw new Error(`the board has no post '${TITLE}' with a file.`);
        yield await fetchPart(`${SITE}/cmn/file/downloadBoard.do?fileId=${encodeURIComponent(id)}`);
      },
    },
  ],
  read: async () => (await import('./read.ts')).kofiuReader,
});
